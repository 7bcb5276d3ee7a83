package crew

import (
	"flag"
	"strings"

	"github.com/rueidisson/rueidisson/internal/embedded"
)

// Addr declares the flag that [OpenServer] reads.
func Addr(f *flag.FlagSet, addr *string) {
	f.StringVar(addr, "addr", "", "host:port or URL of a real server (default: one inside of this process)")
}

// Server is where the processes of an example meet.
type Server struct {
	URL, Title string
	inside     *embedded.Server // nil: a real one
}

// OpenServer returns the server at addr, a host:port or a URL, or for "" one inside of
// this process, which the others reach over TCP.
func OpenServer(addr string) (*Server, error) {
	switch {
	case addr == "":
		s, err := embedded.Start()
		if err != nil {
			return nil, err
		}
		return &Server{URL: s.URL(), Title: "embedded", inside: s}, nil
	case strings.Contains(addr, "://"):
		return &Server{URL: addr, Title: addr}, nil
	}
	return &Server{URL: "redis://" + addr, Title: addr}, nil
}

// Close stops what OpenServer has started.
func (s *Server) Close() {
	if s.inside != nil {
		s.inside.Close()
	}
}
