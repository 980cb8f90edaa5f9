"""The architecture of Unlimited-OCR, large and small: DeepEncoder, projector and DASH decoder."""
