package main

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/multimap"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/stream"
)

// These return what removes an object that a look has found.

func streamHandle(c *rueidisson.Client, name string, _ seenObject) removable {
	return stream.New[string, string](c, name)
}

func multimapHandle(c *rueidisson.Client, name string, seen seenObject) removable {
	if seen.kind == setMultimap {
		return multimap.NewSet[string, string](c, name)
	}
	return multimap.NewList[string, string](c, name)
}

func barrierHandle(c *rueidisson.Client, name string, _ seenObject) removable {
	return c.Barrier(name, 1)
}

func mapHandle(c *rueidisson.Client, name string, seen seenObject) removable {
	switch f := seen.found.(type) {
	case *shardedFound:
		return rmap.NewSharded[string, string](c, name, f.Shards)
	case *mapFound:
		if f.Kind == "cache" {
			return rmap.NewCache[string, string](c, name)
		}
	}
	return rmap.New[string, string](c, name)
}

func (t *tool) electionHandle(_ *rueidisson.Client, name string, _ seenObject) removable {
	return &lastTerm{t, name}
}

// lastTerm is what Redis knows of the last leader of an election.
type lastTerm struct {
	*tool
	name string
}

// forgetTerm removes a term, unless somebody leads. KEYS: the hash of the lock, the term.
var forgetTerm = rueidis.NewLuaScript(`
if redis.call('exists', KEYS[1]) == 1 then
	return -1
end
return redis.call('del', KEYS[2])`)

func (l *lastTerm) Name() string { return l.name }

// Delete removes the term. The answer to a second send of a lost reply may be that there was none.
func (l *lastTerm) Delete(ctx context.Context) (bool, error) {
	redis, err := l.dial()
	if err != nil {
		return false, err
	}
	defer redis.Close()
	n, err := forgetTerm.Exec(ctx, redis, []string{l.name, prefixed("rueidisson_term", l.name)}, nil).AsInt64()
	if err == nil && n < 0 {
		err = &ending{code: exitUnavailable, err: fmt.Errorf(`%q has a leader; "rueidisson force-unlock %s" deposes it`, l.name, l.name)}
	}
	return n > 0, err
}

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
	cmd := c.objectRemoveCommand(queueObjects, c.queueHandle)
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
	if seen.kind == "delayed queue" {
		q.all = append(q.all, queue.NewDelayed[string](client, name), queue.NewDelayed[string](client, name, queue.WithRedissonFormat()))
	}
	switch {
	case c.bounded && seen.kind != "bounded queue":
		q.bad = failed(fmt.Errorf("queue %q: %w: it is a %s: leave --bounded out", name, rueidisson.ErrWrongKind, seen.kind))
	case c.delayed:
	case seen.kind == "bounded queue":
		q.all = append(q.all, queue.NewBounded[string](client, name))
	case seen.kind == "ring buffer":
		q.all = append(q.all, queue.NewRing[string](client, name))
	case seen.kind == "priority queue":
		q.all = append(q.all, queue.NewPriority[string](client, name))
	default:
		q.all = append(q.all, queue.New[string](client, name))
	}
	return q
}
