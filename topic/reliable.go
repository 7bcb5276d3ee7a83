package topic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Reliable is messages that are kept until every subscriber has handled them;
// see the package's documentation. It is safe for concurrent use.
type Reliable[T any] struct {
	h    handle[T]
	r    *reliables
	of   stream
	most int64
	full bool // what is beyond that is refused
}

// NewReliable returns a handle on the topic of that name, whose messages are kept until every subscriber has handled them.
func NewReliable[T any](c Client, name string, opts ...Option) *Reliable[T] {
	e := c.Engine()
	key := e.Map(name)
	t := &Reliable[T]{h: newHandle[T](e, "reliable topic", name, pubsub.Channel{Name: key}, opts), r: reliablesOf(e)}
	t.of = stream{key, keys.TopicTimeouts(key), keys.TopicMissed(key), keys.TopicHolders(key), keys.Lane(key, e.ClientID)}
	t.h.bad = cmp.Or(t.h.bad, object.CheckName(e, key))
	if cfg, err := resolve(opts); err == nil {
		t.most, t.full = cfg.most, cfg.full == Refuse
		if t.full && t.most == 0 && t.h.bad == nil {
			t.h.bad = fmt.Errorf("%w: WithFullPolicy needs WithMaxLength", ErrInvalidArgument)
		}
	}
	return t
}

// Name returns the name that the topic was made with.
func (t *Reliable[T]) Name() string { return t.h.name }

// Publish appends a message to the topic, and returns how many subscribers get it. A subscriber
// is a group: each process that subscribes has one, and so has each [Durable] name. The message
// is kept until all of them have handled it. Without subscribers it is kept for the first one;
// see [WithMaxLength].
//
// Calls of a process on one topic that come at the same time are sent together, in
// their order. A message is appended once, however often the call has to be sent.
//
// Cost: one script call. Errors: [ErrFull], with [WithFullPolicy]; ctx's error and cause; [ErrInvalidArgument];
// [ErrOutcomeUnknown] if the reply was lost again and again, or ctx ended before it: the message may have been
// appended, or be appended within a moment, once; [ErrClosed]; those of Redis. Source: RReliableTopic.publish.
func (t *Reliable[T]) Publish(ctx context.Context, v T) (subscribers int64, err error) {
	text, err := t.h.encode(ctx, v)
	if err == nil {
		subscribers, err = t.r.appends.Do(ctx, t.of.key, appending{of: &t.of, most: t.most, full: t.full, text: text})
		if err != nil && ctx.Err() != nil && !errors.Is(err, ErrOutcomeUnknown) {
			err = core.Left(err)
		}
		if err == nil && subscribers == refusedFull {
			subscribers, err = 0, ErrFull
		}
		if err == nil {
			t.h.e.Offered(ctx, t.h.kind, t.of.key, 1)
		}
	}
	return subscribers, t.failed("publish to", err)
}

// Subscribe listens from when the loop over the messages begins until it ends. The loop waits for
// messages until ctx ends. It sees what Messages of [ReliableSubscription] shows.
//
// Cost and errors: as [Reliable.Listen].
func (t *Reliable[T]) Subscribe(ctx context.Context) iter.Seq2[T, error] {
	return t.subscribed(ctx, t.Listen)
}

// Listen subscribes. The first subscription of a client to the topic makes its
// group, which gets all that the topic still has, and later messages. Further subscriptions share
// it, and get messages from then on. ctx bounds the wait. The last Close deletes the
// group. A group whose process died is deleted after ten minutes, and until then keeps
// the messages that it has not handled.
//
// Cost: a script call; one connection to each server for all such topics of a client, see docs/guide/streams-and-topics.md;
// two commands when a topic has changed; a script call for what was handled, at most one at a time for each topic.
// Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; those of Redis. Source:
// RReliableTopic.addListener.
func (t *Reliable[T]) Listen(ctx context.Context) (*ReliableSubscription[T], error) {
	return t.listen(ctx, t.r.group, false)
}

// Durable returns the subscriber of that name, of the whole fleet: it gets every message from its
// first Listen until its Drop, also those of times without a listening process. Processes that
// listen under one name share its messages. The topic needs
// [WithMaxLength], since a name that is not used any more would keep everything.
func (t *Reliable[T]) Durable(name string) *Durable[T] {
	d := &Durable[T]{t: t, name: name}
	switch {
	case t.h.bad != nil:
		d.bad = t.h.bad
	case name == "" || len(name) > longestGroup:
		d.bad = fmt.Errorf("%w: the name of a subscriber has 1 to %d bytes, not %d", ErrInvalidArgument, longestGroup, len(name))
	case t.most == 0:
		d.bad = fmt.Errorf("%w: a durable subscriber needs WithMaxLength", ErrInvalidArgument)
	}
	return d
}

const longestGroup = 256

// Len returns how many messages the topic has that a subscriber still needs, or that have no
// subscribers.
//
// Cost: one script call. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; those of
// Redis. Source: RReliableTopic.size.
func (t *Reliable[T]) Len(ctx context.Context) (n int64, err error) {
	if err = t.h.usable(ctx); err == nil {
		n, err = send.Reading(t.h.e.Sender, ctx, func() (int64, error) {
			return t.h.e.StreamLength(ctx, t.of.key)
		})
	}
	return n, t.failed("count messages of", err)
}

// CountSubscribers returns how many groups the topic has.
//
// Cost: one command, XINFO GROUPS. Errors: as [Reliable.Len]. Source:
// RReliableTopic.countSubscribers.
func (t *Reliable[T]) CountSubscribers(ctx context.Context) (n int64, err error) {
	if err = t.h.usable(ctx); err == nil {
		n, err = send.Reading(t.h.e.Sender, ctx, func() (int64, error) {
			names, err := t.groups(ctx)
			return int64(len(names)), err
		})
	}
	return n, t.failed("count subscribers of", err)
}

// CountListeners returns how many subscriptions without a name this client has. It does no
// I/O. Source: RReliableTopic.countListeners.
func (t *Reliable[T]) CountListeners() int { return t.r.listeners(feedKey{t.of.key, t.r.group}) }

func (h *reliables) listeners(k feedKey) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.feeds[k]; f != nil {
		return f.users
	}
	return 0
}

// Delete removes the topic, its messages and all groups, with their dead letters and redriven messages. A subscriber
// makes its group anew, and gets [ErrInterrupted]. Delete reports whether the topic existed. Dead letters of a name
// stay if the name was dropped before, if the stream is deleted already, or if that happens at the same time. A key of
// another type is deleted, too. Cost: two commands; the second is sent once. Source: RReliableTopic.delete.
func (t *Reliable[T]) Delete(ctx context.Context) (there bool, err error) {
	if err = t.h.usable(ctx); err == nil {
		there, err = send.Writing(t.h.e.Sender, ctx, func() (bool, error) {
			names, err := t.groups(ctx)
			if err != nil && !send.WrongType(err) {
				return false, err
			}
			all := []string{t.of.key, t.of.timeout, t.of.missed, t.of.holders}
			for _, name := range names {
				all = append(all, keys.StreamDead(t.of.key, name), t.of.again(name))
			}
			return send.Yes(t.h.e.Run(ctx, unlink, all, nil))
		})
	}
	return there, t.failed("delete", err)
}

// groups returns the names of the topic's groups.
func (t *Reliable[T]) groups(ctx context.Context) (names []string, err error) {
	got, err := t.h.e.Run(ctx, groups, []string{t.of.key}, nil)
	if err != nil && strings.Contains(err.Error(), "no such key") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := got.ToArray()
	for i := 0; i < len(all) && err == nil; i++ {
		var about map[string]rueidis.RedisMessage
		if about, err = all[i].AsMap(); err == nil {
			is := about["name"]
			var name string
			name, err = is.ToString()
			names = append(names, name)
		}
	}
	return names, err
}

// failed names a key of another type, too.
func (t *Reliable[T]) failed(op string, err error) error {
	if err != nil && send.WrongType(err) {
		err = fmt.Errorf("key %q is no stream, or %q no zset: %w", t.of.key, t.of.timeout, err)
	}
	return t.h.failed(op, err)
}

func (t *Reliable[T]) listen(ctx context.Context, group string, durable bool) (*ReliableSubscription[T], error) {
	if err := t.h.usable(ctx); err != nil {
		return nil, t.failed("listen to", err)
	}
	var alone atomic.Bool
	r := &ear{news: make(chan struct{}, 1)} // if both come, the answer and the end of the caller, the second one leaves again
	f, err, answered := send.Await(t.h.e.Sender, ctx, 0, func() (*feed, error) {
		f, err := t.r.enter(t.of, group, durable, r, &alone)
		if err == nil && alone.Swap(true) {
			f.exit(r)
		}
		return f, err
	})
	if !answered && alone.Swap(true) {
		r.f.exit(r)
	}
	if err != nil {
		return nil, t.failed("listen to", err)
	}
	return &ReliableSubscription[T]{t: t, f: f, ear: r}, nil
}

func (t *Reliable[T]) subscribed(ctx context.Context, listen func(context.Context) (*ReliableSubscription[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		s, err := listen(ctx)
		if err != nil {
			var none T
			yield(none, err)
			return
		}
		defer s.Close()
		s.Messages(ctx)(yield)
	}
}

// ReliableSubscription has the messages of one subscriber of a reliable topic. It lasts
// until Close, or until the client closes. It is safe for concurrent use.
type ReliableSubscription[T any] struct {
	t    *Reliable[T]
	f    *feed
	ear  *ear
	once atomic.Bool
}

// Messages yields messages in the order of the topic, and waits for more. A message
// is handled when the loop asks for the next, also if Close was called meanwhile. If the loop is
// left by break, return or a panic, its message is redelivered, to the next loop, or to the next
// subscriber of the name. Some errors are yielded in place of messages, and the loop continues.
// They wrap rueidisson.ErrNotice:
//
//   - *[codec.DecodeError] for a message that is not of the topic's type; it is
//     handled like any other;
//   - *[LaggedError] for messages that a [Durable] name has missed: they were above
//     [WithMaxLength] and were dropped before a process had them. Each is reported once. It is
//     reported again only if the server does not say for 45 s whether it has noted the report,
//     or if another process asks before it has. What a subscription has not reported when it
//     ended is reported by the next. The client repeats that while the server refuses, and the
//     error of Close has what it cannot do;
//   - [ErrDisconnected] when the server is not reached, and [ErrReconnected] when
//     it is again, once each; no message is missed in between;
//   - [ErrInterrupted] if the group was deleted, by Delete, a failover or ten
//     minutes of silence, and was made anew: it gets all messages that the topic has.
//
// Any other error is the last: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; that
// of Redis for a key of another type. Close ends the loop without one. Several loops
// share the messages.
//
// Cost: as [Reliable.Listen] says.
func (s *ReliableSubscription[T]) Messages(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if ctx == nil {
			yield(none, s.t.failed("listen to", object.CheckContext(ctx)))
			return
		}
		s.all(ctx, func(err error) bool { return yield(none, err) }, func(it *entry) bool { return s.give(ctx, it, yield) })
	}
}

// all yields what comes until the loop is left: news, and messages.
func (s *ReliableSubscription[T]) all(ctx context.Context, news func(error) bool, give func(*entry) bool) {
	for {
		got, err := s.next(ctx)
		switch {
		case err != nil:
			news(s.t.failed("listen to", err))
			return
		case got.closed:
			return
		case got.link != 0:
			why := ErrDisconnected
			if got.link == reconnected {
				why = ErrReconnected
			}
			if !news(core.Notice(s.t.failed("listen to", why))) {
				return
			}
		case got.cut:
			if !news(core.Notice(s.t.failed("listen to", ErrInterrupted))) {
				return
			}
		case got.missed > 0:
			s.t.h.e.Missed(s.t.h.kind, s.t.of.key, got.missed)
			if !news(&LaggedError{s.t.h.name, got.missed}) {
				return
			}
		case !give(got.it):
			return
		}
	}
}

// give has the loop handle a message. If it does not, it goes back.
func (s *ReliableSubscription[T]) give(ctx context.Context, it *entry, yield func(T, error) bool) (goOn bool) {
	if !s.f.begin(it) {
		return true
	}
	defer func() {
		if goOn {
			s.f.done(it, true)
		}
		s.f.unbegin(it)
		if !goOn && !s.ear.back(it) {
			s.f.done(it, false)
		}
	}()
	s.t.h.e.TakenEntry(ctx, s.t.h.kind, s.t.of.key, it.shown())
	v, err := s.t.read(it)
	return yield(v, core.Notice(err))
}

var errNoMessage = errors.New("the entry of the stream has no field m")

// read returns the message of an entry.
func (t *Reliable[T]) read(it *entry) (v T, err error) {
	if !it.whole {
		return v, t.failed("listen to", &codec.DecodeError{Name: t.h.name, Key: it.shown(), Cause: errNoMessage})
	}
	return t.h.decode(it.payload, it.shown())
}

// next waits for what comes.
func (s *ReliableSubscription[T]) next(ctx context.Context) (sound, error) {
	for {
		switch {
		case ctx.Err() != nil:
			return sound{}, core.ContextError(ctx)
		case s.t.h.e.Open() != nil:
			return sound{}, ErrClosed
		}
		if got, some := s.ear.take(); some {
			if got.closed || got.err != nil {
				s.ear.poke() // for the other loops
			}
			return got, got.err
		}
		select {
		case <-s.ear.news:
		case <-ctx.Done():
		case <-s.t.h.e.Closing():
		}
	}
}

// Close ends the subscription, and never waits. What had come and was not handled
// comes to the other subscriptions of the client, or of the name. Closing it again is
// fine.
func (s *ReliableSubscription[T]) Close() {
	if !s.once.Swap(true) {
		s.f.exit(s.ear)
	}
}
