package stream

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/entrycodec"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Stream is a handle on the stream of one name, a log of entries that stay until they
// are trimmed, which groups of consumers read: Redisson's RStream shares it. It holds
// nothing, so it may be used by any number of goroutines, and any number of handles
// on one name are the same stream.
type Stream[K comparable, V any] struct {
	common
	q *stream[K, V]
}

// stream is a handle on a stream.
type stream[K comparable, V any] struct {
	base
	codecs entrycodec.Codecs[K, V]
}

// base does not know the types of fields and values.
type base struct {
	whole.Object
	h *hub
}

// Entry is an entry of a [Stream]. If a field occurs twice, Entry has the last.
type Entry[K comparable, V any] struct {
	ID     string  // such as 1730000000000-0
	Fields map[K]V // of the entry
}

// Time returns when the entry was added, as its ID says, if the server has chosen that.
func (e Entry[K, V]) Time() time.Time {
	text, _, _ := strings.Cut(e.ID, "-")
	ms, _ := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms)
}

// New returns a handle on the stream of that name, which groups of consumers read. It does no I/O.
func New[K comparable, V any](c Client, name string, opts ...Option) *Stream[K, V] {
	e := c.Engine()
	q := &stream[K, V]{base: base{whole.New(e, "stream", "stream", name, whole.Alone), hubOf(e)}}
	settings, err := object.Options(entrycodec.Settings{}, opts, Option.apply)
	if err == nil {
		q.codecs, err = entrycodec.New[K, V](e, name, settings)
		q.codecs.KeyIs = "field"
	}
	q.Bad = cmp.Or(err, object.CheckName(e, q.Key))
	return &Stream[K, V]{common{&q.base}, q}
}

// Add appends an entry, and returns its ID, which the server chooses; see [WithID].
// It is sent once: after [ErrOutcomeUnknown] the entry may be there.
//
// Cost: one command. Errors: [ErrInvalidArgument], also for an entry without fields; [ErrOutcomeUnknown], which also
// ends a ctx that ends before the answer; ctx's error and cause; [ErrClosed]; Redis', also for an ID that is not above
// the last, and the network's. Source: RStream.add.
func (s *Stream[K, V]) Add(ctx context.Context, fields map[K]V, opts ...AddOption) (id string, err error) {
	return s.q.add(ctx, fields, opts)
}

// Range walks the entries from one ID to another, both of them included, in their
// order; "" is the first, or the last. An ID may be given without its number after
// the "-". It looks at 100 at a time. If an entry does not decode, Range yields [ErrDecode] with
// its ID, and continues; another error ends the walk.
//
// Cost: one command for each 100 or 1 MB; the first three read less. Errors: [ErrDecode]; [ErrInvalidArgument]; ctx's
// error and cause; [ErrClosed]; Redis' and the network's. Source: RStream.range.
func (s *Stream[K, V]) Range(ctx context.Context, from, to string) iter.Seq2[Entry[K, V], error] {
	return s.q.walk(ctx, xrange, or(from, "-"), or(to, "+"))
}

// Reverse walks the entries as [Stream.Range] does, from the later ID back to the earlier: Reverse(ctx, "", "") begins
// with the last. Source: RStream.rangeReversed.
func (s *Stream[K, V]) Reverse(ctx context.Context, from, to string) iter.Seq2[Entry[K, V], error] {
	return s.q.walk(ctx, xrevrange, or(from, "+"), or(to, "-"))
}

// Trim drops the oldest entries until there are n at most, and returns how many it
// dropped, also such as a group has not read, or not acknowledged. See
// [WithMaxLength].
//
// Cost: one command. Errors: as [Stream.Add]. Source: RStream.trim.
func (s *Stream[K, V]) Trim(ctx context.Context, n int64) (dropped int64, err error) {
	return s.q.trim(ctx, n)
}

// TrimBefore drops the entries before an ID, and returns how many those were. Cost and errors: as [Stream.Trim].
func (s *Stream[K, V]) TrimBefore(ctx context.Context, id string) (dropped int64, err error) {
	return s.q.trimBefore(ctx, id)
}

// Remove removes entries by their IDs, and returns how many were there. Groups that have not acknowledged them still
// count them as pending. Cost: one command. Errors: as [Stream.Add]. Source: RStream.remove.
func (s *Stream[K, V]) Remove(ctx context.Context, ids ...string) (gone int64, err error) {
	gone, err = s.q.settle(ctx, xdel, nil, ids)
	return gone, s.q.Failed("remove from", err)
}

// Len returns how many entries there are. Cost: one script call. Errors: ctx's error and cause; [ErrInvalidArgument];
// [ErrClosed]; Redis' and the network's. Source: RStream.size.
func (s *Stream[K, V]) Len(ctx context.Context) (n int64, err error) {
	if err = s.q.Usable(ctx); err == nil {
		n, err = send.Reading(s.q.h.e.Sender, ctx, func() (int64, error) { return s.q.h.e.StreamLength(ctx, s.q.Key) })
	}
	return n, s.q.Failed("count", err)
}

// Group returns the group of consumers of that name; [Group.Create] makes it. It does no I/O.
func (s *Stream[K, V]) Group(name string) *Group[K, V] {
	g := &Group[K, V]{s: s.q, name: name, bad: s.q.Bad}
	if g.bad == nil && name == "" {
		g.bad = fmt.Errorf("%w: empty name of a group", ErrInvalidArgument)
	}
	return g
}

// An AddOption changes one [Stream.Add].
type AddOption interface{ applyAdd(*addConfig) error }

type addConfig struct {
	id   string
	most int64
}

type addOption func(*addConfig) error

func (o addOption) applyAdd(c *addConfig) error { return o(c) }

// WithID chooses the ID of an entry, which has to be above the last: 5-1, or 5-* for
// the next that begins with 5. An Add with an ID of its own does nothing when it is
// repeated, but say so with Redis' error.
func WithID(id string) AddOption {
	return addOption(func(c *addConfig) error {
		c.id = id
		return checkID(id, "*")
	})
}

// WithMaxLength has the Add drop the oldest entries beyond about n: a few more may
// stay, which is cheaper than an exact number. Source: StreamAddArgs.trimNonStrict.
func WithMaxLength(n int64) AddOption {
	return addOption(func(c *addConfig) error {
		if c.most = n; n < 1 {
			return fmt.Errorf("%w: a length of %d: at least 1", ErrInvalidArgument, n)
		}
		return nil
	})
}

// checkID refuses what is no ID, which Redis might take for something else. Last is a
// word that is allowed in place of the number after the "-".
func checkID(id, last string) error {
	ms, seq, both := strings.Cut(id, "-")
	if _, err := strconv.ParseUint(ms, 10, 64); err == nil && (!both || last != "" && seq == last) {
		return nil
	} else if _, bad := strconv.ParseUint(seq, 10, 64); err == nil && bad == nil {
		return nil
	}
	return fmt.Errorf("%w: %q is no ID of an entry", ErrInvalidArgument, id)
}

func or(id, otherwise string) string {
	if id == "" {
		return otherwise
	}
	return id
}
