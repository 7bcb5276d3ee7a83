package redistest

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/redis/rueidis"
)

// Option changes how a server is started.
type Option func(*options)

type options struct {
	version  string
	versions []string // of the nodes of a cluster, in turn
	settings []setting
	json     bool
	tls      tlsOptions
	wrap     func(binary string) string // what is started instead; nil: the server itself
}

// Version chooses the server: one of [Versions]. Without it, 7.0 is started.
func Version(version string) Option {
	return func(o *options) { o.version = version }
}

// NodeVersions chooses the servers of a cluster's nodes in turn, as in the middle of an upgrade: three of them are those
// of its masters, and of the replica of each.
func NodeVersions(versions ...string) Option {
	return func(o *options) { o.versions = versions }
}

func (o options) versionOf(node int) string {
	if len(o.versions) == 0 {
		return o.version
	}
	return o.versions[node%len(o.versions)]
}

// Config adds a line to the server's configuration file, as in Config("appendonly", "yes").
func Config(name string, values ...string) Option {
	return func(o *options) { o.settings = append(o.settings, append(setting{name}, values...)) }
}

// JSON has the server load the module RedisJSON, which `make servers` gets, or REJSON_MODULE names.
func JSON() Option {
	return func(o *options) { o.json = true }
}

// JSONIfAny is [JSON] where this machine has the module, for a server that other tests use, too: see [NeedJSON].
func JSONIfAny() Option {
	return func(o *options) { o.json = findJSON() != "" }
}

func resolve(opts []Option) options {
	o := options{version: "7.0", settings: []setting{
		{"save", ""},
		{"appendonly", "no"},
		{"protected-mode", "no"},
		{"enable-debug-command", "local"},
		{"repl-diskless-sync-delay", "0"},
	}}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// Server is a running server process. Its methods may be called from any goroutine of the test.
type Server struct {
	t       testing.TB
	process *process
	shared  bool
}

// Start runs a server for this test, in a folder of its own, on a free port, without persistence unless [Config] asks
// for it. It is killed when the test ends.
func Start(t testing.TB, opts ...Option) *Server {
	t.Helper()
	return start(t, resolve(opts), func(int) ([]setting, error) { return nil, nil })
}

// start runs a server whose configuration depends on its port.
func start(t testing.TB, o options, more func(port int) ([]setting, error), args ...string) *Server {
	t.Helper()
	dir, binary := t.TempDir(), o.need(t, o.version)
	if o.wrap != nil {
		binary = o.wrap(binary)
	}
	p, err := launch(binary, dir, func(port int) ([]setting, error) {
		extra, err := more(port)
		own, err2 := o.lines(dir, port)
		return append(extra, own...), errors.Join(err, err2)
	}, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return &Server{t: t, process: p}
}

// Addr returns "127.0.0.1:port". It stays the same over [Server.Restart].
func (s *Server) Addr() string { return s.process.addr() }

// Port returns the port of [Server.Addr].
func (s *Server) Port() int { return s.process.port }

// PID returns the process id of the server, 0 while it does not run.
func (s *Server) PID() int { return s.process.pid() }

// Client returns a plain rueidis client of this server alone, without client side caching. It is closed when the test ends.
func (s *Server) Client(t testing.TB, change ...func(*rueidis.ClientOption)) rueidis.Client {
	t.Helper()
	return client(t, rueidis.ClientOption{InitAddress: []string{s.Addr()}, ForceSingleClient: true, DisableCache: true}, change)
}

func client(t testing.TB, o rueidis.ClientOption, change []func(*rueidis.ClientOption)) rueidis.Client {
	t.Helper()
	if _, ok := secured.Load(o.InitAddress[0]); ok {
		o.TLSConfig, o.Sentinel.TLSConfig = TLSConfig(t), TLSConfig(t)
	}
	return newClient(t, o, change...)
}

// Kill ends the server with SIGKILL and returns when it is gone. Killing a dead server is fine.
func (s *Server) Kill() {
	if s.mine("Kill") {
		s.process.kill()
	}
}

// Pause stops the server with SIGSTOP and returns when it stands still: connections stay open and silent.
func (s *Server) Pause() {
	if s.mine("Pause") {
		s.check(s.process.pause())
	}
}

// Resume continues a paused server.
func (s *Server) Resume() {
	if s.mine("Resume") {
		s.check(s.process.signal(syscall.SIGCONT))
	}
}

// Restart kills the server, if it runs, and starts it again on the same port and in the same folder; it returns when it
// answers. Data survives only with persistence, as in Config("appendonly", "yes") with Config("appendfsync", "always").
func (s *Server) Restart() {
	if s.mine("Restart") {
		s.process.kill()
		s.check(s.process.start())
	}
}

// mine refuses to harm a server that other tests use at the same time.
func (s *Server) mine(operation string) bool {
	if s.shared {
		s.t.Errorf("redistest: %s of the shared server: use Start", operation)
	}
	return !s.shared
}

func (s *Server) check(err error) {
	if err != nil {
		s.t.Error(err)
	}
}

// FlushScripts makes the server forget all scripts, so that the next EVALSHA is answered with NOSCRIPT.
func (s *Server) FlushScripts() {
	_, err := s.ask("SCRIPT", "FLUSH", "SYNC")
	s.check(err)
}

func (s *Server) ask(args ...string) (any, error) {
	value, err := ask(s.Addr(), args...)
	if err != nil {
		return nil, fmt.Errorf("redistest: %q to %s: %w", args, s.Addr(), err)
	}
	return value, nil
}
