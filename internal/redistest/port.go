package redistest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports are taken from below the ranges that the kernels give to outgoing connections (from 32768 on Linux, 49152 on
// others). Else a client that redials a dead server can be given the server's own port and
// connect to itself, and a server that restarts can find its port taken.
const (
	lowestPort  = 11000
	highestPort = 32000
)

const portTries = 200

// listen takes a free port of 127.0.0.1.
func listen() (net.Listener, error) {
	for range portTries {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		if l, err := net.Listen("tcp", address(port)); err == nil {
			return l, nil
		}
	}
	return nil, errors.New("redistest: found no free port on 127.0.0.1")
}

// freePort names a port that was free a moment ago. Whoever uses it must be ready to find it taken.
func freePort() (int, error) {
	l, err := listen()
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// NobodyThere is an address of 127.0.0.1 at which nobody listens.
func NobodyThere(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return address(port)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
