//go:build interop

package interop

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/rmap"
)

var cacheWaits = []proof{{row: "map_cache/sweeping/both", test: bothSweep}}

// bothSweep: of a fleet one sweeps at a time, and no entry is deleted that lives.
func bothSweep(t *testing.T, w *world) {
	m := w.sharedCache(t)
	seen := w.watchSweeps(m.ctx, t, m.mine.Name())
	m.putByJava("java", "v", time.Millisecond, 0) // Java sweeps from now on, each five seconds
	const living = 50
	for i := range living {
		m.put(strconv.Itoa(i), "short", rmap.WithTTL(time.Millisecond), rmap.WithMaxIdle(time.Millisecond))
		if i%2 == 0 {
			m.put(strconv.Itoa(i), "long", rmap.WithTTL(time.Hour), rmap.WithMaxIdle(time.Hour))
		} else {
			m.put(strconv.Itoa(i), "long")
		}
	}
	short := func() {
		m.put("short", "v", rmap.WithTTL(time.Millisecond), rmap.WithMaxIdle(time.Millisecond))
		m.putByJava("short of java", "v", time.Millisecond, 0)
		distinctTime(m.ctx, t)
	}
	for !seen.happened("java is denied it") { // as Go has something to sweep all the time
		short()
	}
	for !seen.happened("java sweeps") {
		m.putByJava("short of java", "v", time.Millisecond, 0)
		distinctTime(m.ctx, t)
	}
	for !seen.happened("go is denied it") {
		short()
	}
	for i := range living {
		v, there, err := m.mine.Get(m.ctx, strconv.Itoa(i))
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, "long", v)
	}
	require.True(t, seen.happened("go sweeps"))
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Empty(t, seen.wrong)
}

// sweeps is what a server was told to do about the latch of a cache, and by whom.
type sweeps struct {
	mu     sync.Mutex
	what   map[string]bool
	trying string  // to sweep, and has the latch for so long if it can
	length float64 // seconds
	open   bool    // whether it can
	has    string  // the one that swept last, until its latch ends
	until  float64
	wrong  []string
}

func (s *sweeps) happened(what string) bool { s.mu.Lock(); defer s.mu.Unlock(); return s.what[what] }

// watchSweeps monitors all nodes: only that of the cache runs scripts about it.
func (w *world) watchSweeps(ctx context.Context, t *testing.T, name string) *sweeps {
	t.Helper()
	s := &sweeps{what: map[string]bool{}}
	var all sync.WaitGroup
	t.Cleanup(all.Wait) // behind all that are closed
	for _, addr := range w.addrs {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		require.NoError(t, err)
		_, err = conn.Write([]byte("MONITOR\r\n"))
		require.NoError(t, err)
		lines := bufio.NewScanner(conn)
		lines.Buffer(nil, 1<<20)
		require.True(t, lines.Scan())
		require.Equal(t, "+OK", lines.Text())
		all.Go(func() {
			for lines.Scan() {
				s.line(lines.Text(), name)
			}
		})
		t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	}
	return s
}

var monitored = regexp.MustCompile(`^\+([0-9.]+) \[\d+ lua\] (.*)$`)

// line is a command that a script has called; those of one script come together. A sweeper is known by how it takes the
// latch: Java sets it and gives it an end in seconds, Go does both at once, in milliseconds.
func (s *sweeps) line(text, name string) {
	parts := monitored.FindStringSubmatch(text)
	if parts == nil || !strings.Contains(parts[2], name) {
		return
	}
	at, _ := strconv.ParseFloat(parts[1], 64)
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(parts[2], `"`, "")))
	last, _ := strconv.ParseFloat(words[len(words)-1], 64)
	latch, times := strings.HasPrefix(words[1], "redisson__execute_task_once_latch:"), strings.HasPrefix(words[1], "redisson__timeout__set:")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case latch && (words[0] == "setnx" || words[0] == "set"):
		if s.open {
			s.what[s.trying+" is denied it"] = true
		}
		s.trying, s.length, s.open = map[string]string{"setnx": "java", "set": "go"}[words[0]], last/1000, true
	case latch && words[0] == "expire":
		s.length = last
	case latch && words[0] == "pttl":
		s.what["go is denied it"], s.open = true, false
	case times && words[0] == "zrangebyscore":
		s.swept(at)
	}
}

func (s *sweeps) swept(at float64) {
	if s.has != s.trying && at < s.until-0.01 {
		s.wrong = append(s.wrong, fmt.Sprintf("%s sweeps at %f, and the latch was of %s until %f", s.trying, at, s.has, s.until))
	}
	s.what[s.trying+" sweeps"] = true
	s.has, s.until, s.open = s.trying, at+s.length, false
}
