package redlock_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// member is one lock on a server, to which scripts are sent by hand.
type member struct {
	t    *testing.T
	raw  rueidis.Client
	name string
}

const leaseMs = 30_000

func newMember(t *testing.T) *member {
	return &member{t, redistest.Shared(t).Client(t), redistest.Name(t)}
}

func (m *member) acquire(owner string) {
	redistest.Do(m.t, m.raw, "HSET", m.name, owner, "1")
	redistest.Do(m.t, m.raw, "PEXPIRE", m.name, strconv.Itoa(leaseMs))
}

func (m *member) uptime() string {
	m.t.Helper()
	body, err := os.ReadFile("lua/uptime.lua")
	require.NoError(m.t, err)
	return redistest.Eval(m.t, m.raw, string(body), []string{m.name})
}

func (m *member) state() string {
	if fields := redistest.Fields(m.t, m.raw, m.name); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// TestALateSecondRunChangesNothing: the script runs, something happens, and it runs again as a send that was under way for
// all the while would: the lock must stay as it is.
func TestALateSecondRunChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.LateRuns(t, newMember, func(t *testing.T, m *member) func() {
		return redistest.SameLock(t, leaseMs*time.Millisecond, m.state, func() time.Duration { return redistest.Left(m.t, m.raw, m.name) })
	}, map[string][2]func(m *member){
		"uptime, under a hold": {
			func(m *member) { m.acquire("a"); require.NotEqual(m.t, "nil", m.uptime()) },
			func(m *member) { require.NotEqual(m.t, "nil", m.uptime()) },
		},
		"uptime, after the release": {
			func(m *member) { m.uptime(); m.acquire("a"); redistest.Do(m.t, m.raw, "DEL", m.name) },
			func(m *member) { require.NotEqual(m.t, "nil", m.uptime()) },
		},
	})
}
