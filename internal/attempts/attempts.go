// Package attempts is what becomes of attempts at an entry of a stream that have failed: it
// comes again later, or is put aside, into a stream of its own that can be listed; and how far
// a group is behind. Groups of streams and durable names of reliable topics share it.
package attempts

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

// Nack is the script of [Say].
var Nack = scripts.Must(lua, "lua/nack.lua")

var purge = scripts.Must(lua, "lua/purge.lua")

const (
	// MostDead is how many entries stay of what a group has put aside.
	MostDead = 10_000
	// MostFields is with how many of its fields an entry is put aside; nack.lua says so, too.
	MostFields = 3900
	// longestCause bounds why, in bytes.
	longestCause = 1024
	// PutAside is the idle time of what does not come again.
	PutAside = time.Duration(-1)
	// page is how many entries a walk looks at, at a time.
	page = 100
)

// ErrUnsettled is why an entry is put aside whose consumer died of it, or hangs.
var ErrUnsettled = errors.New("its last attempt has ended without an outcome")

// ErrLeft is why an attempt has failed whose loop did not say how it ended.
var ErrLeft = errors.New("the loop has left it")

// Backoff returns how long an entry waits behind an attempt, but not longer than most. Without f that
// is a second, and twice as long behind each further attempt.
func Backoff(f func(attempt int64) time.Duration, attempt int64, most time.Duration) time.Duration {
	wait := time.Second << min(max(attempt-1, 0), 20)
	if f != nil {
		wait = f(attempt)
	}
	return min(max(wait, 0), most)
}

// Failure is an attempt that has failed.
type Failure struct {
	Name     string // of the object, as it is mapped
	Stream   string // that the entry is in
	Missed   string // hash of what its groups have missed; or "": what was dropped is not counted
	Group    string
	Consumer string // that has it
	ID       string
	Before   string // the ID that it had before it was redriven, if the stream is of such
	Attempt  int64
	Idle     time.Duration // for how long it counts as left alone already; or PutAside
	Cause    error
}

// Outcome is what became of an attempt that has failed.
type Outcome int64

const (
	Lost    Outcome = iota // another has the entry
	Again                  // it comes again
	Buried                 // it was put aside
	Dropped                // the stream had it no more, which is counted if there is a hash for that
)

// Say has the entry come again, or puts it aside.
func Say(ctx context.Context, e *locking.Engine, requests *send.Requests, f Failure) (Outcome, error) {
	why := ""
	if f.Cause != nil {
		why = f.Cause.Error()
		why = why[:min(len(why), longestCause)]
	}
	idle := int64(-1)
	if f.Idle >= 0 {
		idle = core.Millis(f.Idle)
	}
	missed := cmp.Or(f.Missed, f.Stream)
	said, err := send.Number(request(ctx, e, requests, f.Name, Nack, []string{f.Stream, keys.StreamDead(f.Name, f.Group), missed},
		f.Group, f.Consumer, f.ID, strconv.FormatInt(f.Attempt, 10), strconv.FormatInt(idle, 10), why, strconv.Itoa(MostDead), f.Before))
	return Outcome(said), err
}

// request runs a script that includes done.lua.
func request(ctx context.Context, e *locking.Engine, requests *send.Requests, name string, script *scripts.Script, on []string, args ...string) (send.Answer, error) {
	latch := keys.QueueDone(name, requests.ID())
	got, err := e.Run(ctx, send.Identified{Script: script}, append(on, latch), append([]string{send.MemoryMillis}, args...))
	if err == nil && !got.Replayed && !send.OnCleanup(ctx) {
		requests.Forget(name, latch) // there is no copy of it that may come late
	}
	return got, err
}

// Redriven is what a call has had come again.
type Redriven struct {
	N    int64
	Next string // where the next call goes on; or "": there is none
	Till string // up to which ID of what was put aside the next call goes
}

// Redrive runs a script that has some of what was put aside come again, and says that as a text
// of three words: how many, where the next call goes on, or ".", and up to where.
func Redrive(ctx context.Context, e *locking.Engine, requests *send.Requests, name string, script *scripts.Script, on []string, args ...string) (r Redriven, err error) {
	got, err := request(ctx, e, requests, name, script, on, args...)
	var text string
	if err == nil {
		text, err = got.ToString()
	}
	if err == nil {
		_, err = fmt.Sscan(text, &r.N, &r.Next, &r.Till)
	}
	if r.Next == "." {
		r.Next = ""
	}
	return r, err
}

// Dead is an entry that was put aside.
type Dead struct {
	At       string // its ID there
	ID       string // the one that it had
	Attempts int64
	Cause    string
	Buried   time.Time
	Fields   []rueidis.XRangeFieldValue
	Err      error // why it is none
}

var (
	errNoID = errors.New("it has no ID")
	xrange  = send.Sized(scripts.NewCommand("XRANGE", scripts.Reads), send.Sizing{})
)

// Walk returns what a group has put aside, the oldest first, 100 at a time.
func Walk(ctx context.Context, e *locking.Engine, name, group string) iter.Seq2[Dead, error] {
	return func(yield func(Dead, error) bool) {
		for from := "-"; ; {
			some, err := send.Reading(e.Sender, ctx, func() ([]rueidis.XRangeSlice, error) {
				got, err := e.Run(ctx, xrange, []string{keys.StreamDead(name, group)}, []string{from, "+", "COUNT", strconv.Itoa(page)})
				if err != nil || got.Nil {
					return nil, err
				}
				return got.AsXRangeSlices()
			})
			if err != nil {
				yield(Dead{}, err)
				return
			}
			for _, it := range some {
				if !yield(deadOf(it), nil) {
					return
				}
			}
			if len(some) < page {
				return
			}
			from = "(" + some[len(some)-1].ID
		}
	}
}

func deadOf(it rueidis.XRangeSlice) Dead {
	ms, _, _ := strings.Cut(it.ID, "-")
	at, err := strconv.ParseInt(ms, 10, 64)
	d := Dead{At: it.ID, Buried: time.UnixMilli(at), Err: err}
	for _, f := range it.FieldValues {
		switch name, is := strings.CutPrefix(f.Field, "="); {
		case is:
			d.Fields = append(d.Fields, rueidis.XRangeFieldValue{Field: name, Value: f.Value})
		case f.Field == "g":
			d.ID = f.Value
		case f.Field == "c":
			d.Cause = f.Value
		case f.Field == "x":
			d.Err = fmt.Errorf("%s fields of it are missing: an entry is put aside with %d", f.Value, MostFields)
		case f.Field == "n":
			if d.Attempts, err = strconv.ParseInt(f.Value, 10, 64); err != nil {
				d.Err = err
			}
		}
	}
	if d.Err == nil && d.ID == "" {
		d.Err = errNoID
	}
	return d
}

// Purge deletes what a group has put aside, and returns how many entries that were.
func Purge(ctx context.Context, e *locking.Engine, requests *send.Requests, name, group string) (int64, error) {
	return send.Writing(e.Sender, ctx, func() (int64, error) {
		return send.Number(request(ctx, e, requests, name, purge, []string{keys.StreamDead(name, group)}))
	})
}

// Commands are those of this package's scripts, and what it sends as it is.
var Commands check.Commands = func() []string {
	return append(check.Scripts(lua, "lua/*.lua")(), check.Sent(xrange, groups)()...)
}
