package redistest

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// Metered is a client that knows how long a server has computed for each command that it sends, one at a time. What the
// machine does beside that does not count, so it is a measure on a busy machine, too. Nobody else uses the server.
type Metered struct {
	rueidis.Client
	t   testing.TB
	raw rueidis.Client

	mu   sync.Mutex
	most time.Duration
	what string
}

// Meter returns a client of a server, and meters it.
func Meter(t testing.TB, s *Server) *Metered {
	return &Metered{Client: s.Client(t), t: t, raw: s.Client(t)}
}

// Most returns the longest time of a command, and the command, and begins anew.
func (m *Metered) Most() (time.Duration, string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	most, what := m.most, m.what
	m.most, m.what = 0, ""
	return most, what
}

// cpu is for how long the server has computed.
func (m *Metered) cpu() (total time.Duration) {
	info, err := m.raw.Do(context.Background(), m.raw.B().Arbitrary("INFO", "cpu").Build()).ToString()
	require.NoError(m.t, err)
	found := 0
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys_main_thread" || name == "used_cpu_user_main_thread" {
			seconds, err := strconv.ParseFloat(value, 64)
			require.NoError(m.t, err)
			total += time.Duration(seconds * float64(time.Second))
			found++
		}
	}
	require.Equal(m.t, 2, found, "INFO cpu tells nothing of the main thread")
	return total
}

func (m *Metered) meter(words []string, run func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	what, _, _ := strings.Cut(strings.Join(words[:min(len(words), 3)], " "), "\n")
	before := m.cpu()
	run()
	if took := m.cpu() - before; took > m.most {
		m.most, m.what = took, what
	}
}

// Do returns that of the client.
func (m *Metered) Do(ctx context.Context, cmd rueidis.Completed) (res rueidis.RedisResult) {
	m.meter(cmd.Commands(), func() { res = m.Client.Do(ctx, cmd) })
	return res
}

// DoMulti returns that of the client. All of it counts as one.
func (m *Metered) DoMulti(ctx context.Context, cmds ...rueidis.Completed) (all []rueidis.RedisResult) {
	m.meter(cmds[0].Commands(), func() { all = m.Client.DoMulti(ctx, cmds...) })
	return all
}
