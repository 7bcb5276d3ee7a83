package reliable

import (
	"cmp"
	"context"
	"fmt"
	"unique"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Queue is a queue whose messages are kept until they are acknowledged; see
// the package's documentation. It holds nothing, so any number of goroutines may use
// it.
type Queue[T any] struct {
	h      *hub
	name   string // as the caller wrote it
	of     *names
	cfg    config
	policy unique.Handle[policy]
	codec  codec.Codec[T]
	bad    error // what every operation returns, if the handle cannot be used
}

// New returns a handle on the queue of that name, whose messages are kept until they are acknowledged.
func New[T any](c Client, name string, opts ...Option) *Queue[T] {
	e := c.Engine()
	h := e.Shared(hubKey{}, func() any { return newHub(e) }).(*hub)
	q := &Queue[T]{h: h, name: name, of: newNames(e, e.Map(name))}
	cfg, err := object.Options(config{maxBody: defaultMaxBody, given: given{log: e.Logger}}, opts, Option.applyHandle)
	if err == nil {
		err = cfg.given.resolve()
	}
	if err == nil {
		q.cfg, q.policy = cfg, unique.Make(cfg.policy())
		q.codec, err = object.Codec[T](e, cfg.family, cfg.codec)
	}
	q.bad = cmp.Or(err, object.CheckName(e, q.of.key))
	return q
}

// Name returns the name that the queue was made with.
func (q *Queue[T]) Name() string { return q.name }

// Dead returns a handle on the same queue that takes its dead letters, in the order in which they were
// buried: [Queue.Receive], [Queue.ReceiveN], [Queue.Poll], [Queue.Consume], [Queue.Serve] and
// [Queue.ServeBatch] take them. Its other methods are those of the queue.
//
// A consumer holds a dead letter under a lease, as any message. Meanwhile it is [Running]: [Queue.Redrive],
// [Queue.Purge] and the bound of [WithDeadLimit] leave it alone. Its Attempt is the next one. It ends in one of
// these ways:
//   - [Message.Ack], or a handler that returns nil: it is deleted.
//   - [Message.Nack], a handler that returns an error, [Discard], [WithTimeout] or an expired lease: it stays
//     dead, with the new cause. Dead redelivers it after the backoff of that attempt. Until then it is among the first to be
//     deleted if there are more than [WithDeadLimit] says.
//   - [Message.Nack] with [WithDelay], or [RetryIn]: the consumers of the queue get it after
//     that time, as after [Queue.Redrive]. It stays dead if another message has its unique key by now.
//   - [Message.Release], or [Snooze]: it stays dead, at its place, or Dead redelivers it after the delay. The
//     attempt does not count.
//
// A handler of dead letters gets a message at most five seconds after it was buried. [Queue.Pause] and [WithMaxInFlight]
// hold for dead letters, too. Cost: each process that waits looks every five seconds.
func (q *Queue[T]) Dead() *Queue[T] {
	d := *q
	d.cfg.dead = true
	if d.bad == nil {
		d.policy = unique.Make(d.cfg.policy())
	}
	return &d
}

// usable checks what every operation needs.
func (q *Queue[T]) usable(ctx context.Context) error { return object.Usable(ctx, q.h.e, q.bad) }

// failed names the operation and the queue.
func (q *Queue[T]) failed(op string, err error) error {
	if send.WrongType(err) {
		err = fmt.Errorf("one of the keys of the queue is of another type: %w", err)
	}
	return object.Failed(op, "reliable queue", q.name, err)
}

// names is one queue as the server sees it.
type names struct {
	key   string   // the mapped name
	parts []string // the keys of the queue, as scripts have them
	lease string   // one of them
	lane  string   // what the lanes of this client begin with
	wake  string   // what the channels of those who wait begin with
	done  string   // channel of results

	cancelled string // channel of cancelled messages that a client held
}

func newNames(e *locking.Engine, mapped string) *names {
	return &names{
		key: mapped, parts: keys.Reliable(mapped), lease: keys.ReliableLeases(mapped),
		lane: keys.ReliableLane(mapped, e.ClientID), wake: keys.ReliableWake(mapped), done: keys.ReliableDone(mapped),
		cancelled: keys.ReliableCancelled(mapped),
	}
}

// on returns the keys of a script: the parts, further ones, and the last.
func (of *names) on(last string, more ...string) []string {
	all := make([]string, 0, len(of.parts)+len(more)+1)
	return append(append(append(all, of.parts...), more...), last)
}

// counts returns what scripts are told of whether a message that reached nobody proves
// that nobody listens.
func counts(e *locking.Engine) string {
	return flag(e.CountsAll())
}

// flag returns a yes or no of a script.
func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}
