"""What is known about reasoning: who made a block, who may read it, what must go with it. Pure."""
