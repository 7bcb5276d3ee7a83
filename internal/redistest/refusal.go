package redistest

import (
	"errors"
	"strings"
	"testing"
)

var (
	errWriting = errors.New("it writes still")
	errSaved   = errors.New("no save has failed")
)

// Refusal is a kind of error by which a server refuses requests for a while.
type Refusal struct {
	Name       string // how the error begins
	begin, end string // commands
}

// Refusals of [Server.Refuse]. A [Proxy] answers others: see [Proxy.Answer].
var (
	// OutOfMemory refuses commands that may need memory.
	OutOfMemory = Refusal{"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"}
	// NoReplicas refuses all writes, also to a server with replicas.
	NoReplicas = Refusal{"NOREPLICAS", "CONFIG SET min-replicas-to-write 9", "CONFIG SET min-replicas-to-write 0"}
	// NotSaved refuses writes to a server of [StartUnsaving], as a full disk has it.
	NotSaved = Refusal{"MISCONF", "CONFIG SET stop-writes-on-bgsave-error yes", "CONFIG SET stop-writes-on-bgsave-error no"}
	// ReadOnly refuses writes, as a replica does.
	ReadOnly = Refusal{"READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"}
	// NoScripts refuses scripts to the default user.
	NoScripts = Refusal{"NOPERM", "ACL SETUSER default -eval -evalsha", "ACL SETUSER default +eval +evalsha"}
	// NoChannels refuses all channels to the default user: subscriptions, and messages, also those of scripts. Subscribers are
	// disconnected.
	NoChannels = Refusal{"NOPERM", "ACL SETUSER default resetchannels", "ACL SETUSER default allchannels"}
)

// StartUnsaving starts a server that has failed to save its data, which it bears until it is told not to: see [NotSaved].
func StartUnsaving(t testing.TB, opts ...Option) *Server {
	t.Helper()
	s := Start(t, append(opts, Config("enable-protected-configs", "yes"), Config("save", "3600", "1000000"),
		Config("stop-writes-on-bgsave-error", "no"))...)
	s.says("CONFIG SET dir /proc")
	await(t, "a save that fails", func() error {
		_, _ = s.ask("BGSAVE") // one may be under way
		of, err := info(s.Addr(), "persistence")
		if err == nil && of["rdb_last_bgsave_status"] != "err" {
			err = errSaved
		}
		return err
	})
	return s
}

// Refuse has the server refuse requests until accept is called.
func (s *Server) Refuse(kind Refusal) (accept func()) {
	if !s.mine("Refuse") {
		return func() {}
	}
	s.says(kind.begin)
	return func() { s.says(kind.end) }
}

// Persist has the server write each change to its disk before it answers, so that [Server.Restart] keeps all, until end is called.
func (s *Server) Persist() (end func()) {
	if !s.mine("Persist") {
		return func() {}
	}
	s.says("CONFIG SET appendfsync always")
	s.says("CONFIG SET appendonly yes")
	await(s.t, "a server that has written all that it has", func() error {
		of, err := info(s.Addr(), "persistence")
		if err == nil && (of["aof_rewrite_in_progress"] != "0" || of["aof_rewrite_scheduled"] != "0" || of["aof_last_bgrewrite_status"] != "ok") {
			err = errWriting
		}
		return err
	})
	s.says("CONFIG REWRITE")
	return func() {
		s.says("CONFIG SET appendonly no")
		s.says("CONFIG REWRITE")
	}
}

// says sends a command.
func (s *Server) says(command string) {
	_, err := s.ask(strings.Fields(command)...)
	s.check(err)
}
