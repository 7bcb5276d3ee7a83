package reliable

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// The defaults of terms, which terms.lua has, too.
const (
	defaultAttempts = 10
	defaultDead     = 10_000
	defaultDeadAge  = 30 * 24 * time.Hour
	firstBackoff    = time.Second
	mostBackoff     = 10 * time.Minute

	mostAttempts = 1_000_000
	mostDead     = 1 << 30
	mostFlight   = 1 << 30
	// mostWaits is how many attempts the waits of a backoff tell apart.
	mostWaits = 32
)

// Terms are how a queue deals with its messages, whichever consumer has them. A term that is
// zero was never given: the default counts.
type Terms struct {
	MaxAttempts   int             // see [WithMaxAttempts]; default 10
	Backoff       []time.Duration // waits after the first, second, … failed attempt, the last for all further ones; default see [WithBackoff]
	DeadLimit     int             // see [WithDeadLimit]; default 10,000
	DeadAge       time.Duration   // see [WithDeadLimit]; default 30 days
	MaxInFlight   int             // see [WithMaxInFlight]; default any number
	GroupInFlight int             // see [WithGroupInFlight]; default 1
	KeepDone      time.Duration   // see [WithKeepDone]; default not at all
	Lease         time.Duration   // of consumers without a [WithLease] of their own; default the client's watchdog timeout
}

// String returns the terms that are not the default, such as "attempts 5, lease 10s".
func (t Terms) String() string {
	var all []string
	for i, term := range t.fields() {
		if term != "" {
			all = append(all, termNames[i]+" "+t.shown(i))
		}
	}
	if len(all) == 0 {
		return "default"
	}
	return strings.Join(all, ", ")
}

// The places of terms in their text; see terms.lua.
const (
	termAttempts = iota
	termDead
	termDeadAge
	termLease
	termFlight
	termWaits
	termKeep
	termGroup
	termCount
)

var termNames = [termCount]string{"attempts", "dead limit", "age of the dead", "lease", "messages in flight", "backoff", "time of what is done", "messages of a group in flight"}

// fields returns the terms as their text has them.
func (t Terms) fields() (all [termCount]string) {
	if t.MaxAttempts > 0 {
		all[termAttempts] = decimal(t.MaxAttempts)
	}
	if t.DeadLimit > 0 {
		all[termDead] = decimal(t.DeadLimit)
	}
	if t.DeadAge > 0 {
		all[termDeadAge] = decimal(core.Millis(t.DeadAge))
	}
	if t.Lease > 0 {
		all[termLease] = decimal(core.Millis(t.Lease))
	}
	if t.MaxInFlight > 0 {
		all[termFlight] = decimal(t.MaxInFlight)
	}
	all[termWaits] = textOfWaits(t.Backoff)
	if t.KeepDone > 0 {
		all[termKeep] = decimal(core.Millis(t.KeepDone))
	}
	if t.GroupInFlight > 0 {
		all[termGroup] = decimal(t.GroupInFlight)
	}
	return all
}

// text returns what meta has.
func (t Terms) text() string {
	all := t.fields()
	return strings.Join(all[:], "|")
}

// shown returns one of the terms as people read it.
func (t Terms) shown(i int) string {
	switch i {
	case termDeadAge:
		return t.DeadAge.String()
	case termLease:
		return t.Lease.String()
	case termWaits:
		return fmt.Sprint(t.Backoff)
	case termKeep:
		return t.KeepDone.String()
	}
	return t.fields()[i]
}

func textOfWaits(waits []time.Duration) string {
	texts := make([]string, len(waits))
	for i, d := range waits {
		texts[i] = decimal(core.Millis(d))
	}
	return strings.Join(texts, " ")
}

// termsOf reads a text of terms; "" has none.
func termsOf(text string) (t Terms, err error) {
	if text == "" {
		return t, nil
	}
	all := strings.Split(text, "|")
	if len(all) <= termWaits || len(all) > termCount {
		return t, errAnswer
	}
	var n [termCount]int64
	for i := range all { // an earlier version has fewer
		if all[i] == "" || i == termWaits {
			continue
		}
		if n[i], err = strconv.ParseInt(all[i], 10, 64); err != nil {
			return t, errAnswer
		}
	}
	for _, ms := range strings.Fields(all[termWaits]) {
		wait, err := strconv.ParseInt(ms, 10, 64)
		if err != nil {
			return t, errAnswer
		}
		t.Backoff = append(t.Backoff, time.Duration(wait)*time.Millisecond)
	}
	t.MaxAttempts, t.DeadLimit, t.MaxInFlight = int(n[termAttempts]), int(n[termDead]), int(n[termFlight])
	t.DeadAge, t.Lease = time.Duration(n[termDeadAge])*time.Millisecond, time.Duration(n[termLease])*time.Millisecond
	t.GroupInFlight = int(n[termGroup])
	t.KeepDone = time.Duration(n[termKeep]) * time.Millisecond
	return t, nil
}

// otherTerms returns the error of a consumer whose terms differ from those of the queue.
func otherTerms(given, stored Terms) error {
	mine, theirs := given.fields(), stored.fields()
	var all []string
	for i := range mine {
		if i != termLease && mine[i] != "" && theirs[i] != "" && mine[i] != theirs[i] {
			all = append(all, fmt.Sprintf("%s: %s, and not %s", termNames[i], stored.shown(i), given.shown(i)))
		}
	}
	return fmt.Errorf("%w: %s", ErrOtherTerms, strings.Join(all, "; "))
}

// waitsOf returns the waits of a backoff. An error says that it does not give the same wait for the same attempt.
func waitsOf(backoff func(attempt int) time.Duration, log *slog.Logger) ([]time.Duration, error) {
	waits := make([]time.Duration, mostWaits)
	for i := range waits {
		var panicked bool
		waits[i], panicked = waitOf(backoff, i+1, log)
		if panicked {
			continue
		}
		if again, _ := waitOf(backoff, i+1, log); again != waits[i] {
			return nil, fmt.Errorf("%w: the backoff of attempt %d is %v one time and %v another", ErrInvalidArgument, i+1, waits[i], again)
		}
	}
	n := len(waits)
	for n > 1 && waits[n-2] == waits[n-1] {
		n--
	}
	return slices.Clip(waits[:n]), nil
}

// waitOf bears a backoff that panics: the default stands in.
func waitOf(backoff func(attempt int) time.Duration, attempt int, log *slog.Logger) (d time.Duration, panicked bool) {
	defer func() {
		if caught := recover(); caught != nil {
			// The default without what is a tenth more or less. From the eleventh attempt on it is the longest wait.
			d, panicked = min(firstBackoff<<min(max(attempt-1, 0), 10), mostBackoff), true
			log.Error("a backoff has panicked", "attempt", attempt, "err", fmt.Sprint(caught), "stack", string(debug.Stack()))
		}
	}()
	return time.Duration(core.Millis(min(max(backoff(attempt), 0), core.LongestLease))) * time.Millisecond, false
}

// Terms returns the terms of the queue. Those that no consumer and no [Queue.SetTerms] has given
// are zero. Cost: one script call. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; those
// of Redis.
func (q *Queue[T]) Terms(ctx context.Context) (Terms, error) {
	t, err := look(ctx, q, statsScript, func(all []string) (Terms, error) {
		for i := 8; i+1 < len(all); i += 2 {
			if all[i] == "terms" {
				return termsOf(all[i+1])
			}
		}
		return Terms{}, nil
	}, "")
	return t, q.failed("read the terms of", err)
}

// SetTerms gives the queue the terms that this handle was given: [WithMaxAttempts], [WithBackoff],
// [WithDeadLimit], [WithMaxInFlight], [WithGroupInFlight], [WithKeepDone], [WithLease]. The others
// stay as they are. Consumers follow with their next take; those that were started before go on,
// also with options that differ now. A deploy which changes terms calls it before it serves. Cost:
// one script call. Errors: as [Queue.Pause].
func (q *Queue[T]) SetTerms(ctx context.Context) error {
	return q.failed("set the terms of", q.setTerms(ctx, "stay"))
}

// ResetTerms gives the queue the terms of this handle, as [Queue.SetTerms] does, and makes the
// others the default again: a handle without options takes all terms back. A consumer that takes
// later gives the queue the terms that it lacks then and the consumer was given. A
// [WithGroupInFlight] that the queue had becomes 1, as a term that only SetTerms changes. Cost: one
// script call. Errors: as [Queue.Pause].
func (q *Queue[T]) ResetTerms(ctx context.Context) error {
	return q.failed("reset the terms of", q.setTerms(ctx, "reset"))
}

func (q *Queue[T]) setTerms(ctx context.Context, others string) error {
	terms := q.cfg.terms
	terms.Lease = q.cfg.lease
	_, err := q.request(ctx, termsScript, terms.text(), others)
	return err
}
