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

// Leader is a leader, as an observer sees it.
type Leader struct {
	// Value is the value that the leader has published.
	Value string
	// Fence is the fencing token of its term, whose owner is the leader's client; the zero Token if
	// there is no leader.
	Fence fence.Token
	// Mine says that the leader belongs to this client.
	Mine bool
	// Gap says that there were other leaders before it which this observer did not get: their terms
	// had ended when it looked.
	Gap bool
}

// None reports whether there is no leader.
func (l Leader) None() bool { return l.Fence.IsZero() }

// Observe yields the present leader first, then every change, of the leader and of its value, also
// to none. Leaders come in the order of their terms. If one was not seen, the next one has
// [Leader.Gap]. A loop body that takes long gets only the last of the changes meanwhile. The loop
// ends with ctx.
//
// Two errors are notices, which wrap rueidisson.ErrNotice: [ErrDisconnected] when the server cannot
// be reached, and [ErrReconnected] when it is reached again. Any other error is the last that the
// loop yields: the end of ctx, for example, or the failure of a server that has not been reached
// for a watchdog timeout. The term of a leader may have ended since it was yielded; only the leader
// knows, by [Term.Context].
//
// Cost: one script call for each message, change and end of a lease, and every 5 s; a client has
// one subscription per name.
// Changes are published. A change without a message is found by the regular calls: when a leader
// was killed, at the end of its lease.
// Errors: ctx's error and cause; [lock.ErrClosed]; [lock.ErrInvalidArgument]; [lock.ErrWrongKind];
// those of Redis.
// Source: no object of Redisson.
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
	last  int64 // token of the last known leader

	away   bool  // the server cannot be reached
	notice error // not yielded yet
}

// next waits until there is something to yield.
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

// look asks the server, and reports whether there is news.
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

// news records what was seen, and reports whether to yield it.
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

// leader returns the leader of a sight.
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
