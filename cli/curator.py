"""``ldpsim curator``: the key by which devices know their one curator, what it signs, and the app for them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ldpsim.cli import options as o
from ldpsim.cli.help import App, Group
from ldpsim.cli.output import echo

curator = App(cls=Group, help="Make a curator's key, sign collections, write the Flower app.", no_args_is_help=True)

_LARGEST_DEVICE_MODEL = 1 << 26  # bytes
FEDERATION = "num-supernodes=300 client-resources-num-cpus=1"  # of an app on Flower's simulation runtime


@curator.callback()
def root() -> None:
    """The key of a curator, by which devices know whose question they answer, and the Flower app that asks them."""


@curator.command()
def keygen(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Secret key; the public one is FILE.pub")],
    debug: o.Debug = False,
) -> None:
    """Make a key pair: keep FILE, give FILE.pub to the people."""
    from ldpsim.devices.curator_key import generate

    public = generate(path)
    echo(f"{path}: secret, signs the terms of collections (ldpsim curator sign --curator-key {path})", err=True)
    echo(f"{path}.pub: for the people (ldpsim device enrol --curator-key {path}.pub)", err=True)
    echo(public)


@curator.command()
def sign(
    config: Annotated[Path, typer.Argument(metavar="FILE.toml", help="Settings of the run; `facts` is a path")],
    curator_key: Annotated[Path, o.plain_option("--curator-key", "Secret key of the curator", "FILE")],
    collection: Annotated[
        str | None, o.plain_option("--collection", "Id of the collection", "ID", show_default="FILE.toml's or new")
    ] = None,
    packages: Annotated[
        bool, typer.Option("--import-packages", help="Import the package of an installed method")
    ] = False,
    debug: o.Debug = False,
) -> None:
    """Sign the terms of one collection: print the settings for `flwr run`.

    Do this where the key lives. The key stays there; what is printed holds no secret. No code that FILE.toml names is
    imported, a network least of all.
    """
    import tomli_w

    from ldpsim.devices.atomic_files import read_file
    from ldpsim.devices.curator_key import CuratorKey
    from ldpsim.strategies.flower_app.deployed import signed_config
    from ldpsim.strategies.flower_app.simulation import read_config

    key, settings = CuratorKey.load(curator_key), read_config(config)
    facts = Path(str(settings.get("facts") or "facts.json"))
    try:
        text = read_file(facts).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{config}: facts {facts} cannot be read ({error})") from None
    named = settings | ({} if collection is None else {"collection": collection})
    signed = signed_config(named, text.strip(), key, packages=packages)
    echo(f"collection {signed['collection']}: signed by {key.public}", err=True)
    echo(tomli_w.dumps(signed).rstrip())


@curator.command("sign-model")
def sign_model(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A run's device-model.json")],
    curator_key: Annotated[Path, o.plain_option("--curator-key", "Secret key of the curator", "FILE")],
    debug: o.Debug = False,
) -> None:
    """Sign what devices predict from: print the file for `ldpsim device predict --device-model`.

    Sign a device model that you made of the reports, and none that somebody gives you: one can be made so that a
    device's class tells who is in its list.
    """
    from ldpsim.devices.atomic_files import read_file
    from ldpsim.devices.curator_key import CuratorKey
    from ldpsim.devices.prediction import DeviceModel

    key = CuratorKey.load(curator_key)
    try:
        model = DeviceModel.read(read_file(file, _LARGEST_DEVICE_MODEL)).as_text().encode()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{file}: {reason}") from None
    echo(f"signed by {key.public}", err=True)
    echo(key.sign_model(model).to_bytes().decode("ascii"), nl=False)


@curator.command("app")
def write_app(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to create")],
    own: Annotated[bool, o.plain_option("--own", "A short app to change, which imports the installed ldpsim")] = False,
    debug: o.Debug = False,
) -> None:
    """Write the Flower app of this version into a new folder, for `flwr run`.

    With --own: a start for an app of your own, as `flwr new` makes one.
    """
    from ldpsim.strategies.flower_app.app_folder import app_folder, own_app_folder
    from ldpsim.strategies.flower_app.simulation import default_config

    if path.exists():
        raise ValueError(f"{path} exists already: the app gets a new folder")
    if own:
        own_app_folder(path, default_config())
        echo(f"{path}: my_app.py and pyproject.toml; with 300 people on this machine:", err=True)
        echo("  export FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1", err=True)
        echo(f'  flwr run {shlex.quote(str(path))} --stream --federation-config "{FEDERATION}"', err=True)
    else:
        app_folder(path, default_config())
        echo(f"{path}: the Flower app of this version (flwr run {path})", err=True)
    echo(str(path))
