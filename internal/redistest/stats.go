package redistest

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
)

var scriptCommands = []string{"eval", "evalsha", "eval_ro", "evalsha_ro", "fcall", "fcall_ro"}

// CommandCalls returns how often the server ran the commands since [Server.ResetStats], by INFO commandstats; without
// commands, all of them (the INFO calls that asked included). Subcommands are named as the server does: "script|load".
// What a script calls counts too, so one EVALSHA that publishes is a call of evalsha and one of publish.
func (s *Server) CommandCalls(t testing.TB, commands ...string) int64 {
	t.Helper()
	calls := s.calls(t)
	var sum int64
	if len(commands) == 0 {
		for _, n := range calls {
			sum += n
		}
	}
	for _, command := range commands {
		sum += calls[strings.ToLower(command)]
	}
	return sum
}

// ScriptCalls returns how often the server was asked to run a script or function since [Server.ResetStats], calls that were
// answered with NOSCRIPT included.
func (s *Server) ScriptCalls(t testing.TB) int64 {
	t.Helper()
	return s.CommandCalls(t, scriptCommands...)
}

// Connections returns how many clients are connected to the server, without the one that asks.
func (s *Server) Connections(t testing.TB) int {
	t.Helper()
	clients, err := info(s.Addr(), "clients")
	if err != nil {
		t.Fatalf("redistest: clients of %s: %v", s.Addr(), err)
	}
	n, err := strconv.Atoi(clients["connected_clients"])
	if err != nil {
		t.Fatalf("redistest: clients of %s: %v", s.Addr(), err)
	}
	return n - 1
}

// OnePipeline has a client send everything by one connection, so that connections
// can be counted.
func OnePipeline(o *rueidis.ClientOption) { o.PipelineMultiplex = -1 }

// Blocked returns how many connections of the server have blocked last.
func (s *Server) Blocked(t testing.TB) (n int) {
	t.Helper()
	c := s.Client(t, OnePipeline, func(o *rueidis.ClientOption) { o.ForceSingleClient = true })
	list, err := c.Do(t.Context(), c.B().ClientList().Build()).ToString()
	if err != nil {
		t.Fatalf("redistest: clients of %s: %v", s.Addr(), err)
	}
	for _, cmd := range []string{"cmd=blpop", "cmd=brpop", "cmd=blmove", "cmd=bzpopmin", "cmd=bzpopmax", "cmd=xread "} {
		n += strings.Count(list, cmd)
	}
	return n
}

// ResetStats sets all counters of the server to zero.
func (s *Server) ResetStats() {
	_, err := s.ask("CONFIG", "RESETSTAT")
	s.check(err)
}

func (s *Server) calls(t testing.TB) map[string]int64 {
	t.Helper()
	all, err := info(s.Addr(), "commandstats")
	if err != nil {
		t.Fatalf("redistest: commandstats of %s: %v", s.Addr(), err)
	}
	out := map[string]int64{}
	for name, stat := range all {
		command, isCommand := strings.CutPrefix(name, "cmdstat_")
		first, _, _ := strings.Cut(stat, ",")
		n, err := strconv.ParseInt(strings.TrimPrefix(first, "calls="), 10, 64)
		if isCommand && err == nil {
			out[command] = n
		}
	}
	return out
}

// AwaitReplica waits until a replica has all that the server had written when it was asked.
func (s *Server) AwaitReplica(t testing.TB) {
	t.Helper()
	written := s.replication(t)["master_repl_offset"]
	Eventually(t, func() bool {
		replica := s.replication(t)["slave0"]
		_, offset, _ := strings.Cut(replica, "offset=")
		offset, _, _ = strings.Cut(offset, ",")
		has, err := strconv.ParseInt(offset, 10, 64)
		all, _ := strconv.ParseInt(written, 10, 64)
		return err == nil && strings.Contains(replica, "state=online") && has >= all
	}, 20*time.Second, 10*time.Millisecond, "no replica has what %s has", s.Addr())
}

func (s *Server) replication(t testing.TB) map[string]string {
	t.Helper()
	fields, err := info(s.Addr(), "replication")
	if err != nil {
		t.Fatal(err)
	}
	return fields
}
