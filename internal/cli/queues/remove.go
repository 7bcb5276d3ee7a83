package queues

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/queue"
)

// queueParts are the queue of a name, and what waits for it.
type queueParts struct {
	name string
	all  []tool.Removable
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
	cmd := inspect.RemoveCommand(c.Tool, queueObjects, c.queueHandle)
	remove := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case c.bounded && c.delayed:
			return exit.Usagef("--bounded and --delayed exclude each other")
		case c.shared:
			return exit.Usagef("--redisson is not for rm: it removes both formats of what waits")
		}
		return remove(cmd, args)
	}
	return cmd
}

// queueHandle returns what removes a queue, with what waits for it before the elements that were moved.
func (c *queueCall) queueHandle(client *rueidisson.Client, name string, seen inspect.Seen) tool.Removable {
	q := &queueParts{name: name}
	if seen.Kind != inspect.KindPriority || c.delayed { // what waits for a bounded queue or a ring buffer shows as one of those
		q.all = append(q.all, queue.NewDelayed[string](client, name), queue.NewDelayed[string](client, name, queue.WithRedissonFormat()))
	}
	switch {
	case c.bounded && seen.Kind != inspect.KindBounded:
		q.bad = exit.Failed(fmt.Errorf("queue %q: %w: it is a %s: leave --bounded out", name, rueidisson.ErrWrongKind, seen.Kind))
	case c.delayed:
	case seen.Kind == inspect.KindBounded:
		q.all = append(q.all, queue.NewBounded[string](client, name))
	case seen.Kind == inspect.KindRing:
		q.all = append(q.all, queue.NewRing[string](client, name))
	case seen.Kind == inspect.KindPriority:
		q.all = append(q.all, queue.NewPriority[string](client, name))
	default:
		q.all = append(q.all, queue.New[string](client, name))
	}
	return q
}

var queueObjects = inspect.Objects{
	Noun: "queue", Plural: "queues", Example: "orders",
	Kinds: []string{"queue", inspect.KindBounded, inspect.KindRing, inspect.KindPriority, inspect.KindDelayed}, Type: "list",
	Removal: `
Of a delayed queue it removes also what waits, in both formats; with --delayed only
that. Of a bounded queue and a ring buffer it removes also the capacity.
`,
}
