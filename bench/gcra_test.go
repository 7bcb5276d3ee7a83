package bench

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// patient is the burst of a rate of one a second that no benchmark uses up. What
// a key has taken is still missing when it is its turn again, so that every
// decision reads a state and writes one.
const patient = 1_000_000

func newPatientOurs(addr string) (impl, error) {
	return limiterWith(addr, "patient", ratelimiter.PerSecond(1).WithBurst(patient))
}

// gcraFloor is as little as a decision by the server's clock and by one key can
// be: one GET, one SET, one number back. It keeps when all would be there again,
// in whole microseconds, and knows neither a change of the rate nor a reservation.
type gcraFloor struct{ c rueidis.Client }

// KEYS[1] when all is there; ARGV[1] µs for a token; ARGV[2] µs for all. Returns how long to wait, µs.
var gcraScript = rueidis.NewLuaScript(`
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local full = tonumber(redis.call('GET', KEYS[1])) or now
if full < now then
	full = now
end
full = full + ARGV[1]
local wait = full - now - ARGV[2]
if wait > 0 then
	return wait
end
redis.call('SET', KEYS[1], full, 'PX', math.ceil((full - now) / 1000))
return 0`)

func newGCRAFloor(addr string) (impl, error) {
	c, err := rueidis.NewClient(connection(addr))
	return gcraFloor{c}, err
}

func (f gcraFloor) locker(name string) locker {
	keys := []string{"gcra:{" + name + "}"}
	args := []string{"1000000", strconv.Itoa(patient * 1_000_000)}
	return func(ctx context.Context) (unlock, error) {
		wait, err := gcraScript.Exec(ctx, f.c, keys, args).AsInt64()
		return decided(wait == 0, err)
	}
}

func (f gcraFloor) close() { f.c.Close() }

// besideGCRA compares decisions of 64 goroutines about 10,000 keys, some of each
// of which is missing.
func besideGCRA(as func(*testing.T, *redistest.Server, *workers) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		side := func(name string) measure { return as(t, s, spread(connect(t, name, s.Addr()), 64, limiterKeys)) }
		return sides{ours: side("patient limiter"), base: side("GCRA script")}
	}
}

func perSecond(_ *testing.T, _ *redistest.Server, w *workers) measure { return w.rate }

var scriptTime = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+),`)

// inScripts is how long the server takes for a script, in microseconds, without
// what it takes to read the command and to write the answer.
func inScripts(t *testing.T, s *redistest.Server, w *workers) measure {
	c := s.Client(t)
	return func(d time.Duration) (float64, error) {
		s.ResetStats()
		if _, err := w.runFor(d); err != nil {
			return 0, err
		}
		text, err := c.Do(context.Background(), c.B().Info().Section("commandstats").Build()).ToString()
		found := scriptTime.FindStringSubmatch(text)
		if err != nil || found == nil {
			return 0, fmt.Errorf("commandstats: %q, %w", text, err)
		}
		calls, _ := strconv.ParseFloat(found[1], 64)
		us, _ := strconv.ParseFloat(found[2], 64)
		return us / calls, nil
	}
}
