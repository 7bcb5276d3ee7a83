package multilock

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/lock"
)

// member is one lock of several.
type member struct {
	lock.Locker
	e   *locking.Engine
	key core.Key
}

var errNoLocks = fmt.Errorf("%w: no locks", ErrInvalidArgument)

// membersOf checks the locks that were given as members. It sorts them into the order in which all
// processes acquire them: by their names in Redis. Locks of one name, on several servers, keep the
// given order.
func membersOf(lockers []lock.Locker) ([]member, error) {
	if len(lockers) == 0 {
		return nil, errNoLocks
	}
	members := make([]member, len(lockers))
	for i, l := range lockers {
		m, err := memberOf(l)
		if err != nil {
			return nil, fmt.Errorf("%w (lock %d of %d)", err, i+1, len(lockers))
		}
		// No hold can have both of two locks of one client and one name.
		if slices.ContainsFunc(members[:i], func(other member) bool { return m.e == other.e && m.key.Name == other.key.Name }) {
			return nil, fmt.Errorf("%w: %q is given twice", ErrInvalidArgument, l.Name())
		}
		members[i] = m
	}
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key.Name, b.key.Name) })
	return members, nil
}

func memberOf(l lock.Locker) (m member, err error) {
	if v := reflect.ValueOf(l); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return m, fmt.Errorf("%w: a nil lock", ErrInvalidArgument)
	}
	if _, several := l.(interface{ members() []member }); several {
		return m, fmt.Errorf("%w: %q is a lock of several already", ErrInvalidArgument, l.Name())
	}
	e, key, ours := lockkit.Identity(l)
	if !ours {
		return m, fmt.Errorf("%w: %T is not a lock of this library", ErrInvalidArgument, l)
	}
	m.Locker, m.e, m.key = l, e, key
	return m, object.CheckName(m.e, m.key.Name) // the lock itself would refuse it only after requests to others
}

// tryOnce asks for the lock, as it is now. It returns when it has an answer or no hope of one: its
// caller may have stopped waiting.
func (m member) tryOnce(ctx context.Context, opts ...lock.TryOption) (*lock.Hold, error) {
	return m.TryLock(context.WithoutCancel(ctx), opts...)
}

func handles(members []member) []lockkit.Handle {
	all := make([]lockkit.Handle, len(members))
	for i, m := range members {
		all[i] = lockkit.Handle{Engine: m.e, Key: m.key, Name: m.Name()}
	}
	return all
}

// names returns the names of the members, each once: the members of a red lock usually share one
// name.
func names(members []member) string { return strings.Join(distinct(members), ", ") }

func distinct(members []member) (all []string) {
	for _, m := range members {
		if name := m.Name(); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// usable checks what every operation needs, before any request is sent.
func usable(ctx context.Context, members []member) error {
	if err := object.CheckContext(ctx); err != nil {
		return err
	}
	if len(members) == 0 { // of a value that no constructor has made
		return errNoLocks
	}
	for _, m := range members {
		if err := m.e.Open(); err != nil {
			return fmt.Errorf("%q: %w", m.Name(), err)
		}
	}
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	return nil
}

// wakeAtClose cancels ctx when the client of any member closes. The wait for one member sees only
// the end of its own client. So wakeAtClose starts a goroutine if there are several clients. The
// goroutine ends with ctx, and with also.
func wakeAtClose(ctx context.Context, members []member, cancel context.CancelCauseFunc, also <-chan struct{}) {
	cases := []reflect.SelectCase{receive(ctx.Done())}
	for i, m := range members {
		if !slices.ContainsFunc(members[:i], func(other member) bool { return other.e == m.e }) {
			cases = append(cases, receive(m.e.Closing()))
		}
	}
	if len(cases) == 2 && also == nil {
		return
	}
	cases = append(cases, receive(also))
	if !members[0].e.Spawn(func() { reflect.Select(cases); cancel(ErrClosed) }) {
		cancel(ErrClosed)
	}
}
