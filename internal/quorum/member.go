package quorum

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/lock"
)

// Member is one lock of several.
type Member struct {
	lock.Locker
	Engine *locking.Engine
	Key    core.Key
}

var errNoLocks = fmt.Errorf("%w: no locks", lock.ErrInvalidArgument)

// several reports whether a lock is of a type of [Several].
var several []func(l lock.Locker) bool

// Several has MembersOf refuse locks of type L: each is a lock of several already.
func Several[L lock.Locker]() {
	several = append(several, func(l lock.Locker) bool { _, is := l.(L); return is })
}

// MembersOf checks the locks that were given as members. It sorts them into the order in which all
// processes acquire them: by their names in Redis. Locks of one name, on several servers, keep the
// given order.
func MembersOf(lockers []lock.Locker) ([]Member, error) {
	if len(lockers) == 0 {
		return nil, errNoLocks
	}
	members := make([]Member, len(lockers))
	for i, l := range lockers {
		m, err := memberOf(l)
		if err != nil {
			return nil, fmt.Errorf("%w (lock %d of %d)", err, i+1, len(lockers))
		}
		// No hold can have both of two locks of one client and one name.
		if slices.ContainsFunc(members[:i], func(other Member) bool { return m.Engine == other.Engine && m.Key.Name == other.Key.Name }) {
			return nil, fmt.Errorf("%w: %q is given twice", lock.ErrInvalidArgument, l.Name())
		}
		members[i] = m
	}
	slices.SortStableFunc(members, func(a, b Member) int { return strings.Compare(a.Key.Name, b.Key.Name) })
	return members, nil
}

func memberOf(l lock.Locker) (m Member, err error) {
	if v := reflect.ValueOf(l); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return m, fmt.Errorf("%w: a nil lock", lock.ErrInvalidArgument)
	}
	if slices.ContainsFunc(several, func(is func(lock.Locker) bool) bool { return is(l) }) {
		return m, fmt.Errorf("%w: %q is a lock of several already", lock.ErrInvalidArgument, l.Name())
	}
	e, key, ours := lockkit.Identity(l)
	if !ours {
		return m, fmt.Errorf("%w: %T is not a lock of this library", lock.ErrInvalidArgument, l)
	}
	m.Locker, m.Engine, m.Key = l, e, key
	return m, object.CheckName(m.Engine, m.Key.Name) // the lock itself would refuse it only after requests to others
}

// TryOnce asks for the lock, as it is now. It returns when it has an answer or no hope of one: its
// caller may have stopped waiting.
func (m Member) TryOnce(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	return m.TryLock(context.WithoutCancel(ctx), opts...)
}

// Handles returns what a hold of the members is of.
func Handles(members []Member) []lockkit.Handle {
	all := make([]lockkit.Handle, len(members))
	for i, m := range members {
		all[i] = lockkit.Handle{Engine: m.Engine, Key: m.Key, Name: m.Name()}
	}
	return all
}

// Names returns the names of the members, each once: the members of a red lock usually share one
// name.
func Names(members []Member) string { return strings.Join(distinct(members), ", ") }

func distinct(members []Member) (all []string) {
	for _, m := range members {
		if name := m.Name(); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Usable checks what every operation needs, before any request is sent.
func Usable(ctx context.Context, members []Member) error {
	if err := object.CheckContext(ctx); err != nil {
		return err
	}
	if len(members) == 0 { // of a value that no constructor has made
		return errNoLocks
	}
	for _, m := range members {
		if err := m.Engine.Open(); err != nil {
			return fmt.Errorf("%q: %w", m.Name(), err)
		}
	}
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	return nil
}

// WakeAtClose cancels ctx when the client of any member closes. The wait for one member sees only
// the end of its own client. So WakeAtClose starts a goroutine if there are several clients. The
// goroutine ends with ctx, and with also.
func WakeAtClose(ctx context.Context, members []Member, cancel context.CancelCauseFunc, also <-chan struct{}) {
	cases := []reflect.SelectCase{receive(ctx.Done())}
	for i, m := range members {
		if !slices.ContainsFunc(members[:i], func(other Member) bool { return other.Engine == m.Engine }) {
			cases = append(cases, receive(m.Engine.Closing()))
		}
	}
	if len(cases) == 2 && also == nil {
		return
	}
	cases = append(cases, receive(also))
	if !members[0].Engine.Spawn(func() { reflect.Select(cases); cancel(lock.ErrClosed) }) {
		cancel(lock.ErrClosed)
	}
}

// Failed adds the operation and the names of the members to err.
func Failed(op string, members []Member, err error) error {
	if err == nil {
		return nil
	}
	all := distinct(members)
	for i, name := range all {
		all[i] = strconv.Quote(name)
	}
	return fmt.Errorf("%s %s: %w", op, strings.Join(all, ", "), err)
}
