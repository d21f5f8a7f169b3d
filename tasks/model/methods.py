"""The candidates by name, with the labels that people read: trained modalities, queried modality (METHOD.md 4)."""

LABELS = {
    "wsabie": "WSABIE (V+T,V)",
    "v_v": "(V,V)",
    "vt_v": "(V+T,V)",
    "regression": "regression",
    "finetuned": "fine-tuned",
    "joined": "frozen + fine-tuned",
    "untrained": "untrained",
}
WITHOUT_WORDS = frozenset({"v_v", "untrained"})
"""The candidates without a text embedding."""
