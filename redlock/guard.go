package redlock

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/quorum"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
)

//go:embed lua/*.lua
var lua embed.FS

var uptimeScript = scripts.Must(lua, "lua/uptime.lua")

// RestartedError says that the server of a red lock's member restarted lately. The server may have
// forgotten a hold whose lease is not over. So its grant did not count, and was released. It wraps
// [ErrNotAcquired].
type RestartedError struct {
	Member    string    // its name
	Server    string    // its address, as far as the client knows it
	Restarted time.Time // the latest time of the restart, by the clock here; the restart was at most two seconds earlier
	Counts    time.Time // the time from which its grants count
}

func (e *RestartedError) Error() string {
	return fmt.Sprintf("%q: the server %s restarted at %s and counts from %s on, as it may have forgotten who holds the lock",
		e.Member, e.Server, e.Restarted.Format(time.RFC3339), e.Counts.Format(time.RFC3339))
}

// Unwrap returns ErrNotAcquired: other clients may hold what the server has forgotten.
func (e *RestartedError) Unwrap() error { return ErrNotAcquired }

// guarded asks for a member, and then for the uptime of its server. The request for the uptime
// follows the first one, so a server that restarts between the two is young.
func guarded(ctx context.Context, m quorum.Member, mustBeUp time.Duration, ask func(context.Context) (*lock.Hold, error)) (*lock.Hold, error) {
	if mustBeUp == 0 {
		return ask(ctx)
	}
	follower := &send.Follower{Script: uptimeScript}
	hold, err := ask(follower.Under(ctx))
	if err != nil {
		return nil, err
	}
	if err := oldEnough(ctx, m, follower, mustBeUp); err != nil {
		_ = hold.Unlock(ctx) // its client repeats what fails
		return nil, err
	}
	return hold, nil
}

func oldEnough(ctx context.Context, m quorum.Member, follower *send.Follower, mustBeUp time.Duration) error {
	up, err := uptime(ctx, m, follower)
	if err != nil {
		return fmt.Errorf("%q: how long its server has been up (see WithRestartGuard): %w", m.Name(), err)
	}
	if up >= mustBeUp {
		return nil
	}
	restarted := time.Now().Add(-up)
	return &RestartedError{m.Name(), m.Engine.Node(m.Key.Name), restarted, restarted.Add(mustBeUp)}
}

// uptime returns the answer that followed the acquire, or makes a request of its own.
func uptime(ctx context.Context, m quorum.Member, follower *send.Follower) (time.Duration, error) {
	if answer, followed := follower.Answer(); followed {
		if _, said := rueidis.IsRedisErr(answer.Error()); said || answer.Error() == nil { // else the answer was lost
			return seconds(answer.AsInt64())
		}
	}
	answer, err := m.Engine.Run(context.WithoutCancel(ctx), uptimeScript, []string{m.Key.Name}, nil)
	if err != nil {
		return 0, err
	}
	if answer.Nil {
		return 0, errNoUptime
	}
	return seconds(answer.AsInt64())
}

var errNoUptime = errors.New("INFO has no uptime_in_seconds")

// seconds returns how long the server has been up at least. INFO counts whole seconds, so it
// subtracts one: the server may have been up for nearly one second less than INFO says. INFO
// reports a negative uptime if the server's clock has been set back; that counts as 0.
func seconds(n int64, err error) (time.Duration, error) {
	if rueidis.IsRedisNil(err) {
		return 0, errNoUptime
	}
	return max(0, time.Duration(n-1)*time.Second), err
}
