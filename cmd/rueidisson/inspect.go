package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/lock"
)

const inspectLong = `inspect shows who holds the lock NAME at this moment: the owner as it stands in
Redis, "<client id>:<number>"; how many levels it holds; how much of its lease is
left, which the holder renews; and how many processes wait, or did a moment ago.

With --json: {"name", "held", "owner", "count", "remaining_ms" (-1: without an
end), "waiting"}. The exit code is 0 whether or not the lock is held.`

func (t *tool) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inspect NAME",
		Short: "Show who holds a lock, and how many wait for it",
		Long:  inspectLong,
		Example: `  rueidisson inspect orders
  rueidisson --redis redis://10.0.0.5:6379 inspect orders --json`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error { return t.inspect(cmd.Context(), args[0]) },
	}
}

func oneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("one NAME is needed, not %d", len(args))
	}
	return nil
}

// found is what inspect tells.
type found struct {
	Name        string `json:"name"`
	Held        bool   `json:"held"`
	Owner       string `json:"owner,omitempty"`
	Count       int    `json:"count"`
	RemainingMS int64  `json:"remaining_ms"`
	Waiting     int    `json:"waiting"`
}

func (t *tool) inspect(ctx context.Context, name string) error {
	f, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	if t.json {
		t.sayJSON(t.stdout, f)
		return nil
	}
	return f.print(t)
}

func (t *tool) find(ctx context.Context, name string) (found, error) {
	c, err := connect(t.url)
	if err != nil {
		return found{}, err
	}
	defer c.Close(ctx)
	l := c.Lock(name)
	holder, err := l.Holder(ctx)
	if err != nil {
		return found{}, failed(err)
	}
	waiting, err := l.Waiting(ctx)
	if err != nil {
		return found{}, failed(err)
	}
	return newFound(name, holder, waiting), nil
}

func newFound(name string, h lock.Holder, waiting int) found {
	f := found{
		Name: name, Held: h.Held(), Owner: h.Owner, Count: h.Count,
		RemainingMS: h.Remaining.Milliseconds(), Waiting: waiting,
	}
	if h.Remaining < 0 {
		f.RemainingMS = -1
	}
	return f
}

func (f found) print(t *tool) error {
	w := tabwriter.NewWriter(t.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\n", f.Name)
	if f.Held {
		fmt.Fprintf(w, "owner\t%s\ncount\t%d\nremaining\t%s\n", f.Owner, f.Count, f.remaining())
	} else {
		fmt.Fprintf(w, "owner\tnobody\n")
	}
	fmt.Fprintf(w, "waiting\t%d\n", f.Waiting)
	return w.Flush()
}

func (f found) remaining() string {
	if f.RemainingMS < 0 {
		return "without end"
	}
	return (time.Duration(f.RemainingMS) * time.Millisecond).String()
}
