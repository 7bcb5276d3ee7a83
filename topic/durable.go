package topic

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Durable is a subscriber that has a name; see [Reliable.Durable].
type Durable[T any] struct {
	t    *Reliable[T]
	name string
	bad  error
}

// Subscribe listens from when the loop over the messages begins until it ends. The loop waits for
// messages until ctx ends. It sees what Messages of [ReliableSubscription] shows.
//
// Cost and errors: as [Durable.Listen].
func (d *Durable[T]) Subscribe(ctx context.Context) iter.Seq2[T, error] {
	return d.t.subscribed(ctx, d.Listen)
}

// Listen subscribes under the name, as [Reliable.Listen] does under the client's. ctx bounds the
// wait. Close leaves the group where it is. A message that a loop has then stays with it until it
// is done, for as long as its process lives. The messages of a process that has died are
// redelivered a watchdog timeout later, to the others, or to the next subscriber of the name.
//
// Cost and errors: as [Reliable.Listen]; [ErrInvalidArgument] also for the name, and for a topic
// without [WithMaxLength].
func (d *Durable[T]) Listen(ctx context.Context) (*ReliableSubscription[T], error) {
	if d.bad != nil {
		return nil, d.t.failed("listen to", d.bad)
	}
	return d.t.listen(ctx, d.name, true)
}

// Drop deletes the name, with what it has not handled, and reports whether it existed. Its dead
// letters stay, see [Durable.PurgeDead]. The next subscriber under the name makes it anew. ctx
// bounds the calls.
//
// Cost: a script call and two commands. Errors: as [Durable.Redrive].
func (d *Durable[T]) Drop(ctx context.Context) (there bool, err error) {
	if err = d.usable(ctx); err == nil {
		there, err = send.Writing(d.t.h.e.Sender, ctx, func() (bool, error) {
			f := &feed{h: d.t.r, of: d.t.of, group: d.name}
			n, err := d.t.r.member(membership{f: f, drop: true})
			if err == nil {
				_, err = d.t.h.e.Run(ctx, hdel, []string{d.t.of.missed}, []string{d.name})
			}
			if err == nil {
				_, err = d.t.h.e.Run(ctx, unlink, []string{d.t.of.again(d.name)}, nil)
			}
			return n > 0, err
		})
	}
	return there, d.t.failed("drop a subscriber of", err)
}

// Lag returns how many messages of the topic the name has not handled: those that no process
// of it was given, those that one has, and those to be redelivered. It is 0 for a name without
// a group, because it has had no subscriber.
//
// Cost: a command and a script call, and where the server does not know it, one for each 100 messages. Errors: ctx's
// error and cause; [ErrInvalidArgument]; [ErrClosed]; those of Redis.
func (d *Durable[T]) Lag(ctx context.Context) (n int64, err error) {
	if err = d.usable(ctx); err == nil {
		n, err = send.Reading(d.t.h.e.Sender, ctx, func() (int64, error) {
			return d.t.h.e.StreamLength(ctx, d.t.of.again(d.name))
		})
	}
	if err == nil {
		var more int64
		more, err = attempts.Lag(ctx, d.t.h.e, d.t.of.key, d.name)
		n += more
	}
	return n, d.t.failed("look at a subscriber of", err)
}

// IDAt returns the first ID that a message of a time may have, for [Durable.ReplayFrom].
func IDAt(t time.Time) string { return strconv.FormatInt(max(t.UnixMilli(), 0), 10) + "-0" }

// ReplayFrom makes the name continue with the message of an ID, such as [Delivery.ID] or [IDAt],
// and those after it, whatever it was given. Earlier messages are redelivered, or messages that
// it has not had are skipped. A name that has had no subscriber yet begins there.
//
// A message from that ID on that a process has, or that waits to be redelivered, is delivered a
// second time, at its first attempt. So call it while no process of the name is at work, or make
// handlers idempotent.
//
// A topic keeps only what a subscriber needs: a message that all its subscribers have handled is
// deleted, and is not redelivered. complete says whether the topic has all that was ever
// published from that ID on, as far as the server can tell. Subscribed processes get the messages
// within a second.
//
// Cost: one script call. Errors: [ErrInvalidArgument] for what is no ID; [ErrOutcomeUnknown], also if ctx ends before
// the answer; ctx's error and cause; [ErrClosed]; those of Redis. Redisson has none.
func (d *Durable[T]) ReplayFrom(ctx context.Context, id string) (complete bool, err error) {
	before := ""
	if err = d.usable(ctx); err == nil {
		before, err = previous(id)
	}
	if err == nil {
		complete, err = send.Writing(d.t.h.e.Sender, ctx, func() (bool, error) {
			h := d.t.r
			defer h.turn(d.t.of.key)()
			n, err := h.numbered(&d.t.of, missing, replayScript, []string{d.t.of.timeout}, d.name, before, never)
			return n == 1, err
		})
	}
	return complete, d.t.failed("replay", err)
}

// previous returns the ID right before one.
func previous(id string) (string, error) {
	msText, seqText, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseUint(msText, 10, 64)
	seq := uint64(0)
	if err == nil && seqText != "" {
		seq, err = strconv.ParseUint(seqText, 10, 64)
	}
	switch {
	case err != nil || strings.HasSuffix(id, "-"):
		return "", fmt.Errorf("%w: %q is no ID of a message", ErrInvalidArgument, id)
	case seq > 0:
		seq--
	case ms > 0:
		ms, seq = ms-1, math.MaxUint64
	}
	return strconv.FormatUint(ms, 10) + "-" + strconv.FormatUint(seq, 10), nil
}
