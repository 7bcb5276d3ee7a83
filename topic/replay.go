package topic

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/send"
)

// IDAt returns the first ID that a message of a time may have, for [Durable.ReplayFrom].
func IDAt(t time.Time) string { return strconv.FormatInt(max(t.UnixMilli(), 0), 10) + "-0" }

// ReplayFrom has the name go on with the message of an ID, such as [Delivery.ID] or [IDAt], and
// those behind it, whatever it was given: earlier messages come again, or messages that it has
// not had are passed over. A name that nobody has listened under begins there.
//
// A message from there on that a process has, or that waits until it comes again, is given out a second time, at its first
// attempt. So call it while no process of the name is at work, or have handlers that bear that.
//
// A topic keeps what somebody has use for: what all its subscribers have handled is gone, and does
// not come again. complete says whether the topic has all that was ever published from there
// on, as far as the server can tell. Processes that listen get it within a second.
//
// Cost: one script call. Wire: XGROUP SETID, or XGROUP CREATE and ZADD {name}:timeout. Errors:
// [ErrOption] for what is no ID; [ErrUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; those of Redis. Redisson has none.
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
		return "", fmt.Errorf("%w: %q is no ID of a message", ErrOption, id)
	case seq > 0:
		seq--
	case ms > 0:
		ms, seq = ms-1, math.MaxUint64
	}
	return strconv.FormatUint(ms, 10) + "-" + strconv.FormatUint(seq, 10), nil
}
