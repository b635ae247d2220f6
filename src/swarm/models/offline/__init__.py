"""The offline model: a semantic router for machines without a key or a network."""

from .model import MODEL_NAME, OfflineModel, announcement

__all__ = ["MODEL_NAME", "OfflineModel", "announcement"]
