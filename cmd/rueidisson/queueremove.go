package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/queue"
)

// queueParts are the queue of a name, and what waits for it.
type queueParts struct {
	name string
	all  []removable
	bad  error // nothing is removed
}

func (q *queueParts) Name() string { return q.name }

// Delete removes all parts, and reports whether any was there.
func (q *queueParts) Delete(ctx context.Context) (any bool, err error) {
	if q.bad != nil {
		return false, q.bad
	}
	for _, part := range q.all {
		did, err := part.Delete(ctx)
		if err != nil {
			return any, err
		}
		any = any || did
	}
	return any, nil
}

// removeWholeCommand removes a queue with all that it has.
func (c *queueCall) removeWholeCommand() *cobra.Command {
	cmd := objectRemoveCommand(c.tool, queueObjects, c.queueHandle)
	remove := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case c.bounded && c.delayed:
			return usage("--bounded and --delayed exclude each other")
		case c.shared:
			return usage("--redisson is not for rm: it removes both formats of what waits")
		}
		return remove(cmd, args)
	}
	return cmd
}

// queueHandle returns what removes a queue, with what waits for it before the elements that were moved.
func (c *queueCall) queueHandle(client *rueidisson.Client, name string, seen seenObject) removable {
	q := &queueParts{name: name}
	if seen.kind == kindDelayed {
		q.all = append(q.all, queue.NewDelayed[string](client, name), queue.NewDelayed[string](client, name, queue.WithRedissonFormat()))
	}
	switch {
	case c.bounded && seen.kind != kindBounded:
		q.bad = failed(fmt.Errorf("queue %q: %w: it is a %s: leave --bounded out", name, rueidisson.ErrWrongKind, seen.kind))
	case c.delayed:
	case seen.kind == kindBounded:
		q.all = append(q.all, queue.NewBounded[string](client, name))
	case seen.kind == kindRing:
		q.all = append(q.all, queue.NewRing[string](client, name))
	case seen.kind == kindPriority:
		q.all = append(q.all, queue.NewPriority[string](client, name))
	default:
		q.all = append(q.all, queue.New[string](client, name))
	}
	return q
}

var queueObjects = objectKind{
	noun: "queue", plural: "queues", example: "orders",
	kinds: []string{"queue", kindBounded, kindRing, kindPriority, kindDelayed}, is: "list",
	removal: `
Of a delayed queue it removes also what waits, in both formats; with --delayed only
that. Of a bounded queue and a ring buffer it removes also the capacity.
`,
}
