package reliable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"unique"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Queue is a queue whose messages are kept until somebody has acknowledged them; see
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

// New returns a handle. Programs outside of this module call rueidisson.ReliableQueue.
func New[T any](e *locking.Engine, name string, opts ...Option) *Queue[T] {
	q := &Queue[T]{h: hubOf(e), name: name, of: newNames(e, e.Map(name))}
	cfg, err := resolve(e, opts)
	if err == nil {
		q.cfg, q.policy = cfg, unique.Make(cfg.policy())
		q.codec, err = chosen[T](e, cfg)
	}
	q.bad = cmp.Or(err, object.CheckName(e, q.of.key))
	return q
}

// Name returns the name that the queue was made with.
func (q *Queue[T]) Name() string { return q.name }

// Add puts a message at the end of the queue, and returns its id, a number that the
// queue gives to no other: see [WithDelay], [WithAt], [WithPriority], [WithGroup],
// [WithDedup], [WithUnique], [WithExpiry], [WithTimeout], [WithAttempts], [WithBackoff] and [WithHeader].
//
// Once Add has returned, the message is there until somebody has acknowledged it. It
// is added once, however often the call has to be sent. Calls of a process that come
// while others are on their way go out together, in their order. An Add whose ctx
// ends is [ErrUnknown]: the message is there, or never will be. Repeat it with a
// dedup key.
//
// Cost: one script call for all that go together. Wire: see the package's
// documentation. Errors: [ErrDuplicate]; [ErrFull]; ctx's error and cause;
// [ErrOption]; [ErrUnknown]; [ErrClosed]; rueidisson.ErrNotReplicated with
// rueidisson.WithReplicaAcks, when the message is on the master only; those of Redis.
func (q *Queue[T]) Add(ctx context.Context, v T, opts ...AddOption) (id int64, err error) {
	p, sealed, err := q.putting(ctx, opts)
	if err == nil {
		a := adding{of: q.of, capacity: q.cfg.capacity}
		if a.one[0], err = q.item(p, sealed, v); err == nil {
			id, err = q.put(ctx, a)
		}
	}
	return id, q.failed("add to", err)
}

func (q *Queue[T]) put(ctx context.Context, a adding) (int64, error) {
	got, err := q.h.adds.Do(ctx, q.of.key, a)
	if err != nil {
		return 0, perhaps(ctx, err)
	}
	return got.of(0)
}

// perhaps wraps ErrUnknown for a caller that may have left before its answer.
func perhaps(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// AddAll adds messages, all with the same options, in pieces of 1,000, or of a
// megabyte, which are added as a whole each. The ids are in the order of the values.
// An id of 0 is that of a message which was not added; the error then wraps what kept
// the first of them away, and the pieces behind one that failed are not sent.
// [WithDedup] and [WithUnique] are for single messages.
//
// Cost: one script call for each piece. Errors: as [Queue.Add].
func (q *Queue[T]) AddAll(ctx context.Context, values []T, opts ...AddOption) (ids []int64, err error) {
	p, sealed, err := q.putting(ctx, opts)
	if err == nil && (p.once != "" || p.unique != "") && len(values) > 1 {
		err = fmt.Errorf("%w: a dedup key or a unique key is that of one message", ErrOption)
	}
	items := make([]item, 0, len(values))
	for i := 0; err == nil && i < len(values); i++ {
		var it item
		it, err = q.item(p, sealed, values[i])
		items = append(items, it)
	}
	if err != nil || len(values) == 0 {
		return nil, q.failed("add to", err)
	}
	ids = make([]int64, len(values))
	for at := 0; at < len(items) && err == nil; {
		n := piece(items[at:])
		err = q.putPiece(ctx, items[at:at+n], ids[at:at+n])
		at += n
	}
	return ids, q.failed("add to", err)
}

// piece returns how many of the items go as one.
func piece(items []item) int {
	size := 0
	for i, it := range items {
		size += len(it.body)
		if i > 0 && (i == mostAdded || size > mostBytes) {
			return i
		}
	}
	return len(items)
}

func (q *Queue[T]) putPiece(ctx context.Context, items []item, ids []int64) error {
	got, err := q.h.adds.Do(ctx, q.of.key, adding{of: q.of, capacity: q.cfg.capacity, items: items})
	if err != nil {
		return perhaps(ctx, err)
	}
	for i := range ids {
		id, bad := got.of(i)
		if ids[i] = id; err == nil {
			err = bad
		}
	}
	return err
}

// putting returns what the options of an Add say, if it can be used, and what stands before
// its values.
func (q *Queue[T]) putting(ctx context.Context, opts []AddOption) (p *putting, sealed string, err error) {
	if err := q.usable(ctx); err != nil {
		return nil, "", err
	}
	p, err = resolveAdd(opts, q.h.e.Logger)
	if err != nil {
		return nil, "", err
	}
	head := p.head
	head.Added = q.h.e.Wall()
	sealed, err = seal(head)
	if err == nil && len(sealed) > longestHeader {
		err = fmt.Errorf("%w: the header has more than %d bytes", ErrOption, longestHeader)
	}
	return p, sealed, err
}

// item returns a message as add.lua has it.
func (q *Queue[T]) item(p *putting, sealed string, v T) (it item, err error) {
	value, err := codec.Encode(q.codec, v)
	if err == nil && len(value) > q.cfg.maxBody {
		err = fmt.Errorf("%w: %d bytes are more than the %d of WithMaxBody", ErrOption, len(value), q.cfg.maxBody)
	}
	if err != nil {
		return it, fmt.Errorf("message: %w", err)
	}
	body := sealed + value
	return item{p, body}, q.h.e.Fits(len(body))
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
