package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/semaphore"
)

// strategy is a way to let buyers at the stock.
type strategy struct {
	name, help string
	// excludes says that it promises that no piece is sold twice, so that
	// overselling is a fault.
	excludes bool
	// held says that a process can die with what it promises that by.
	held bool
	// enter runs buy when it is this buyer's turn. name is that of the product.
	enter func(ctx context.Context, c *rueidisson.Client, name string, buy func(context.Context) error) error
	// stock, unless it is nil, has the pieces in the place of a number that buyers
	// read and write back: then nobody enters.
	stock func(c *rueidisson.Client, name string) supply
}

// supply is pieces that are sold one by one.
type supply interface {
	offer(ctx context.Context, n int) error
	sell(ctx context.Context) (bool, error)
	left(ctx context.Context) (int, error)
	remove(ctx context.Context) error
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
		name: "lock", help: "the reentrant lock", excludes: true, held: true,
		enter: func(ctx context.Context, c *rueidisson.Client, name string, buy func(context.Context) error) error {
			return lock.Do(ctx, c.Lock(name+":lock"), buy)
		},
	},
	{
		name: "semaphore", help: "a semaphore, whose permits are the pieces, beside the lock", excludes: true,
		stock: func(c *rueidisson.Client, name string) supply { return pieces{c.Semaphore(name + ":pieces")} },
	},
}

// pieces are the permits of a semaphore.
type pieces struct{ *semaphore.Semaphore }

func (p pieces) offer(ctx context.Context, n int) error { return p.SetPermits(ctx, int64(n)) }

func (p pieces) sell(ctx context.Context) (bool, error) {
	err := p.TryAcquire(ctx, 1)
	if errors.Is(err, semaphore.ErrNotAcquired) {
		return false, nil
	}
	return err == nil, err
}

func (p pieces) left(ctx context.Context) (int, error) {
	n, err := p.Available(ctx)
	return int(n), err
}

func (p pieces) remove(ctx context.Context) error {
	_, err := p.Delete(ctx)
	return err
}

// strategiesNamed returns the strategies whose names a list has. A semaphore is shown beside the lock.
func strategiesNamed(list string) (all []strategy, err error) {
	names := strings.Split(list, ",")
	if slices.Contains(names, "semaphore") && !slices.Contains(names, "lock") {
		names = append([]string{"lock"}, names...)
	}
	for _, name := range names {
		s, err := strategyNamed(name)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
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
		lines = append(lines, fmt.Sprintf("  %-10s %s", s.name, s.help))
	}
	return strings.Join(lines, "\n")
}
