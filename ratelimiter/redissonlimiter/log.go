package redissonlimiter

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	logTakeScript    = scripts.Must(lua, "lua/log_take.lua")
	logUndoScript    = scripts.Must(lua, "lua/log_undo.lua")
	logReleaseScript = scripts.Must(lua, "lua/log_release.lua")
	logCreateScript  = scripts.Must(lua, "lua/log_create.lua")
	logSetScript     = scripts.Must(lua, "lua/log_set.lua")
	logReadScript    = scripts.Must(lua, "lua/log_read.lua")
	logDeleteScript  = scripts.Must(lua, "lua/log_delete.lua")
)

// slidingLog is Redisson's rate limiter of one name, as the server sees it.
type slidingLog struct {
	e    *locking.Engine
	keys []string // the setting; value and log of all; value and log of this client

	// seen is the rate of the last answer. Redisson leaves the counts of other
	// clients as they are when a rate is set for each; this one brings its own
	// in line when it sees that the rate has changed.
	seen atomic.Int64
}

const (
	randomBytes = 16
	// maxPermits is what an entry of the log can say.
	maxPermits = 1<<32 - 1
)

// newEntry returns what the log says about one grant: how many random bytes come,
// the bytes, and the permits, lowest byte first.
func newEntry(permits int64) string {
	entry := make([]byte, 1+randomBytes+4)
	entry[0] = randomBytes
	_, _ = rand.Read(entry[1 : 1+randomBytes]) // it never fails
	binary.LittleEndian.PutUint32(entry[1+randomBytes:], uint32(permits))
	return string(entry)
}

// look is what [slidingLog.take] is given as entry to take nothing.
const look = ""

// take runs the request that entry stands for.
func (l *slidingLog) take(ctx context.Context, permits int64, entry string) (ratelimiter.Decision, error) {
	answer, err := l.e.Run(ctx, logTakeScript, l.keys, []string{decimal(permits), entry, decimal(l.seen.Load())})
	if err != nil {
		return ratelimiter.Decision{}, told(err)
	}
	if answer.Nil {
		return ratelimiter.Decision{}, ratelimiter.ErrNoRate
	}
	n, err := answer.AsIntSlice()
	if err != nil || len(n) != 7 {
		return ratelimiter.Decision{}, fmt.Errorf("log_take.lua said %v: %w", n, errors.Join(err, ratelimiter.ErrOutcomeUnknown))
	}
	l.seen.Store(n[1])
	r := Rate{Permits: n[1], Interval: fromServer(n[2], time.Millisecond), Type: ratelimiter.RateType(n[3])}
	d := ratelimiter.Decision{
		Allowed: n[0] == 1, Limit: n[1], Rate: r.rate(), Remaining: max(0, n[4]),
		RetryAfter: fromServer(n[5], time.Microsecond), ResetAfter: fromServer(n[6], time.Microsecond),
	}
	if n[0] < 0 {
		return d, fmt.Errorf("%w: %d permits of %v", ratelimiter.ErrExceedsBurst, permits, r)
	}
	return d, nil
}

// undo gives back what take granted under that entry, or may have granted.
func (l *slidingLog) undo(ctx context.Context, permits int64, entry string) error {
	_, err := l.e.Run(ctx, logUndoScript, l.keys, []string{entry, decimal(permits)})
	return err
}

func (l *slidingLog) release(ctx context.Context, permits int64) (int64, error) {
	return number(l.e.Run(ctx, logReleaseScript, l.keys, []string{decimal(permits)}))
}

func (l *slidingLog) create(ctx context.Context, r Rate) (bool, error) {
	n, err := number(l.e.Run(ctx, logCreateScript, l.keys[:1], r.args()))
	return n == 1, err
}

// set stores a rate. With existing it does so only if there is one.
func (l *slidingLog) set(ctx context.Context, r Rate, keep, existing bool) (bool, error) {
	n, err := number(l.e.Run(ctx, logSetScript, l.keys, append(r.args(), flag(keep), flag(existing))))
	return n == 1, err
}

func (l *slidingLog) read(ctx context.Context) (Rate, error) {
	answer, err := l.e.Run(ctx, logReadScript, l.keys[:1], nil)
	if err != nil {
		return Rate{}, told(err)
	}
	if answer.Nil {
		return Rate{}, ratelimiter.ErrNoRate
	}
	n, err := answer.AsIntSlice()
	if err != nil || len(n) != 4 {
		return Rate{}, fmt.Errorf("log_read.lua said %v: %w", n, err)
	}
	return Rate{
		Permits: n[0], Interval: fromServer(n[1], time.Millisecond),
		Type: ratelimiter.RateType(n[2]), KeepAlive: fromServer(n[3], time.Millisecond),
	}, nil
}

func (l *slidingLog) delete(ctx context.Context) (bool, error) {
	n, err := number(l.e.Run(ctx, logDeleteScript, l.keys, nil))
	return n == 1, err
}

func number(answer send.Answer, err error) (int64, error) {
	switch {
	case err != nil:
		return 0, told(err)
	case answer.Nil:
		return 0, ratelimiter.ErrNoRate
	}
	return answer.AsInt64()
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// told returns the server's error in words of this package.
func told(err error) error {
	if err != nil && strings.Contains(err.Error(), "WRONGTYPE") {
		return fmt.Errorf("%w: %w", ratelimiter.ErrOtherAlgorithm, err)
	}
	return err
}
