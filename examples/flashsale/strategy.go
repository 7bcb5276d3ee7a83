package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/lock"
)

// strategy is a way to let buyers at the stock.
type strategy struct {
	name, help string
	// excludes says that it promises to let in one buyer at a time, so that
	// overselling is a fault.
	excludes bool
	// enter runs buy when it is this buyer's turn. name is that of the product.
	enter func(ctx context.Context, c *rueidisson.Client, name string, buy func(context.Context) error) error
}

// strategies are all that there are. One more is one more entry.
var strategies = []strategy{
	{
		name: "none", help: "nothing, which oversells",
		enter: func(ctx context.Context, _ *rueidisson.Client, _ string, buy func(context.Context) error) error {
			return buy(ctx)
		},
	},
	{
		name: "lock", help: "the reentrant lock", excludes: true,
		enter: func(ctx context.Context, c *rueidisson.Client, name string, buy func(context.Context) error) error {
			return lock.Do(ctx, c.Lock(name+":lock"), buy)
		},
	},
}

func strategyNamed(name string) (strategy, error) {
	for _, s := range strategies {
		if s.name == name {
			return s, nil
		}
	}
	return strategy{}, fmt.Errorf("there is no -strategy %q", name)
}

func strategyHelp() string {
	var lines []string
	for _, s := range strategies {
		lines = append(lines, fmt.Sprintf("  %-6s %s", s.name, s.help))
	}
	return strings.Join(lines, "\n")
}
