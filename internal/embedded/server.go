package embedded

import (
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/rueidis"
)

// Server is a running server. Its methods may be called from any goroutine.
type Server struct {
	mini  *miniredis.Miniredis
	addr  string
	clock clock
	known sync.Map // *server.Peer of each connection
}

// Start starts a server on a free port of 127.0.0.1, whose clock is the machine's.
func Start() (*Server, error) { return start(false) }

// StartManual starts a server whose clock stands until [Server.Forward] moves it.
func StartManual() (*Server, error) { return start(true) }

func start(manual bool) (*Server, error) {
	s := &Server{mini: miniredis.NewMiniRedis()}
	s.clock = clock{set: s.mini.SetTime, now: time.Now, manual: manual}
	s.clock.start()
	s.mini.ClockTTL(true)
	if err := s.mini.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("embedded server: %w", err)
	}
	s.mini.Server().SetPreHook(s.arrived)
	s.addr = s.mini.Addr()
	return s, nil
}

// arrived runs before each command, and before each one that a script calls.
func (s *Server) arrived(p *server.Peer, command string, _ ...string) (done bool) {
	if !s.fromConnection(p) {
		return false // time stands still for a script
	}
	s.clock.arrived()
	if command == "CLUSTER" {
		p.WriteError("ERR This instance has cluster support disabled")
		return true
	}
	return false
}

// fromConnection tells a connection's own commands from those of a script, for
// which miniredis makes a peer that has a context from the first command on.
// The lock that moving the clock takes is held while a script runs.
func (s *Server) fromConnection(p *server.Peer) bool {
	if _, known := s.known.Load(p); known {
		return true
	}
	if p.Ctx != nil {
		return false
	}
	s.known.Store(p, nil)
	p.OnDisconnect(func() { s.known.Delete(p) })
	return true
}

// Addr returns "127.0.0.1:port".
func (s *Server) Addr() string { return s.addr }

// ClientOption returns how rueidis has to be told to talk to the server.
func (s *Server) ClientOption() rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress:       []string{s.addr},
		ForceSingleClient: true,
		DisableCache:      true,
		AlwaysRESP2:       true,
	}
}

// URL is [Server.ClientOption] as a URL for rueidis.ParseURL, for other processes.
func (s *Server) URL() string { return "redis://" + s.addr + "?protocol=2&client_cache=0" }

// Forward moves the clock on by d, on top of the time that passes by itself.
// Keys whose time to live is over then are gone for the next command.
func (s *Server) Forward(d time.Duration) { s.clock.forward(d) }

// Now returns the time of the server's clock.
func (s *Server) Now() time.Time { return s.clock.time() }

// Announce publishes message on every channel with a subscriber that matches
// the pattern.
func (s *Server) Announce(pattern, message string) {
	for _, channel := range s.mini.PubSubChannels(pattern) {
		s.mini.Publish(channel, message)
	}
}

// Close stops the server and returns when its connections are closed. Closing
// it again is fine.
func (s *Server) Close() { s.mini.Close() }
