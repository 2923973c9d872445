"""Partitions that tasks of Dask make, to be made inside tasks of ours."""

import pickle
from functools import partial


class Recipe:
    """A partition that a single task of Dask makes, to be made inside a task of ours.

    Its frame is then gone once its numbers are taken, and never stored. Where ``quick`` is given it
    makes the same without a frame, or None if it cannot.
    """

    def __init__(self, task, quick=None):
        self.task, self.quick = task, quick

    def __call__(self):
        found = None if self.quick is None else self.quick()
        return self.task() if found is None else found


class Blocks:
    """Blocks of one partition, each in memory already or made by a task of Dask, as one task."""

    def __init__(self, *blocks):
        self.blocks = blocks

    def __call__(self):
        return tuple(block() if callable(block) else block for block in self.blocks)


class Bundle:
    """Recipes of neighbouring partitions: Dask looks into lists, which takes long, but not here."""

    def __init__(self, recipes):
        self.recipes = recipes

    def __getstate__(self):
        if all(recipe.quick is None for recipe in self.recipes):
            return {"recipes": self.recipes}
        import cloudpickle

        tasks = cloudpickle.dumps([recipe.task for recipe in self.recipes])
        return {"quick": [recipe.quick for recipe in self.recipes], "tasks": tasks}

    def __setstate__(self, state):
        if "tasks" in state:
            tasks = Packed(state["tasks"])
            ways = enumerate(state["quick"])
            state = {"recipes": [Recipe(partial(tasks, i), way) for i, way in ways]}
        self.recipes = state["recipes"]


class Packed:
    """Tasks as bytes, opened when one of them is called: that may import pandas."""

    def __init__(self, content):
        self.content, self.tasks = content, None

    def __call__(self, index):
        if self.tasks is None:
            self.tasks = pickle.loads(self.content)
        return self.tasks[index]()


def recipe(part, quick=lambda task: None):
    """Turn a delayed partition into a recipe where that takes no other task.

    ``quick`` finds another way to make the partition of a task, or None.
    """
    node = lone_task(part)
    return part if node is None else Recipe(node, quick(node))


def lone_task(part):
    """Tell the task that makes a delayed value by itself; None if there is none."""
    node = part.dask[part.key]
    alone = callable(node) and getattr(node, "dependencies", None) == frozenset()
    return node if alone else None
