package election

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/wait"
)

// Leader is who leads, as an observer sees it.
type Leader struct {
	// Value is what the leader says of itself.
	Value string
	// Fence is the fencing token of its term, whose owner is the leader's client;
	// the zero Token if nobody leads.
	Fence fence.Token
	// Mine says that it is of this client.
	Mine bool
	// Gap says that there were other leaders before it, of which this observer was
	// not told: they were gone when it looked.
	Gap bool
}

// None reports whether nobody leads.
func (l Leader) None() bool { return l.Fence.IsZero() }

// Observe tells who leads: the present leader first, then every change, of the
// leader and of its value, also to none. Leaders come in the order of their terms;
// one that was not seen is a [Leader.Gap] at the next. A loop that takes long is
// told the last of what happened meanwhile.
//
// Two errors are notices, which wrap rueidisson.ErrNotice: an [ErrDisconnected] when
// the server is not reached any more, and an [ErrReconnected] when it is reached again.
// Any other error is the last that the loop yields: ctx's end, for example, or the
// failure of a server that has not been reached for a watchdog timeout. The term of a leader that an observer was told may have ended
// meanwhile; only the leader knows, by [Term.Context].
//
// Cost: one script call for each message, change and end of a lease, and every 5 s;
// a client has one subscription per name.
// Wire: hash rueidisson_term:{name}, read together with the lock, and the channel
// of that name. A change is told there, and else found by looking: when a leader
// was killed, at the end of its lease.
// Errors: ctx's error and cause; [lock.ErrClosed]; [lock.ErrInvalidArgument];
// [lock.ErrWrongKind]; those of Redis.
// Source: no object of Redisson's.
func (el *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		if err := el.usable(ctx, ""); err != nil {
			yield(Leader{}, el.failed("observe", err))
			return
		}
		o := &observer{of: el, ear: wait.NewListener(nil, nil)}
		defer o.ear.Close()
		for {
			leader, err := o.next(ctx)
			if notice := o.notice; err == nil && notice != nil {
				o.notice = nil
				if !yield(Leader{}, core.Notice(el.failed("observe", notice))) {
					return
				}
				continue
			}
			if !yield(leader, el.failed("observe", err)) || err != nil {
				return
			}
		}
	}
}

// observer is one Observe.
type observer struct {
	of    *Election
	ear   *wait.Listener
	began bool
	told  Leader
	last  int64 // token of the last leader that it knows of

	away   bool  // the server is not reached
	notice error // not told yet
}

// next waits until there is something to tell.
func (o *observer) next(ctx context.Context) (Leader, error) {
	p := o.of.p
	err := p.e.Watch(ctx, wait.Watch{
		Key: p.key(), Channels: []pubsub.Channel{p.e.Channel(p.term)}, By: o.ear, Look: o.look,
	})
	if err != nil {
		return Leader{}, err
	}
	return o.told, nil
}

// look asks the server, and is done if there is news.
func (o *observer) look(ctx context.Context) (time.Duration, bool, error) {
	p := o.of.p
	s, err, _ := send.Await(p.e.Sender, ctx, 0, func() (sight, error) { return p.leader(ctx) })
	if away := err != nil && send.Unreached(err) && p.e.Over(ctx) == nil; away != o.away && (away || err == nil) {
		o.away, o.notice = away, core.ErrReconnected
		if away {
			o.notice = core.ErrDisconnected
		}
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	leader, err := o.of.leader(s)
	if err != nil {
		return 0, false, err
	}
	return s.left, o.news(leader, s), nil
}

// news takes in what was seen, and reports whether it is to be told.
func (o *observer) news(leader Leader, s sight) bool {
	same := leader
	same.Gap = o.told.Gap
	switch {
	case !o.began:
		o.began, o.last = true, s.last
	case same == o.told: // also with the same value
		return false
	case !leader.None():
		leader.Gap = s.last != o.last && s.after != o.last
		o.last = s.last
	}
	o.told = leader
	return true
}

// leader returns what a sight shows.
func (el *Election) leader(s sight) (Leader, error) {
	if s.owner == "" {
		return Leader{}, nil
	}
	token, err := fence.New(el.Name(), s.last)
	if err != nil {
		return Leader{}, err
	}
	client, _, _ := strings.Cut(s.owner, ":")
	return Leader{Value: s.value, Fence: token.By(client), Mine: client == el.p.e.IDs.Client()}, nil
}
