"""Trackers of experiments: MLflow, Weights & Biases, TensorBoard, through their own clients.

The clients are optional (``pip install 'ldpsim[mlflow]'``) and imported on first use.
"""
