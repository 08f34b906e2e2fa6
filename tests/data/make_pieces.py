#!/usr/bin/env python3
"""Makes pieces.model, the SentencePiece model of the tests: make_pieces.py [FILE]

Needs the Python module sentencepiece (0.1.97 made the file that is kept). The text is below, so that
the model is the project's own; its few normalization rules give it a small character map."""
import io
import os
import sys
import tempfile

import sentencepiece

TEXT = """
The morning was cold and the kettle sang on the stove.
She put on her coat, opened the door and walked down to the river.
The river was grey and slow, and the boats lay still beside the wall.
A man was painting the side of his boat; he waved, and she waved back.
It is not far to the market, but the road is steep and full of holes.
At the market they sell apples, pears, onions, eggs and small round cheeses.
How much are the pears? Two for a coin, five for two coins.
The children ran between the tables and nobody told them to stop.
When the rain came they all stood under the same roof and waited.
We waited too, and talked about the boats, the river and the road.
In the evening the kettle sang again and the coat hung wet by the stove.
Le matin était froid et la bouilloire chantait sur le poêle.
La rivière était grise et lente, et les bateaux dormaient le long du mur.
Combien coûtent les poires ? Deux pour une pièce, cinq pour deux pièces.
"""

# "source code points <tab> target code points": a ligature, a no-break space, control characters.
RULES = "FB01\t66 69\nA0\t20\n9\t20\nD\t20\n2026\t2E 2E 2E\n"


def main():
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(__file__) + "/pieces.model"
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        rules.write(RULES)
        rules.flush()
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT.strip().split("\n")),
            model_writer=model,
            vocab_size=150,
            model_type="unigram",
            pad_id=0,
            bos_id=1,
            eos_id=2,
            unk_id=3,
            user_defined_symbols=["<url>"],
            normalization_rule_tsv=rules.name,
            minloglevel=2,
            num_threads=1,
        )
    with open(target, "wb") as file:
        file.write(model.getvalue().replace(rules.name.encode(), b"x" * len(rules.name)))


main()
