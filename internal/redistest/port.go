package redistest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports are taken from below the ranges that the kernels give to outgoing connections (from 32768 on Linux, 49152 on
// others). Else a client that redials a dead server can be given the server's own port and
// connect to itself, and a server that restarts can find its port taken.
//
// They come in blocks, of which a test process has its own: whoever listens on the first port of a block has it until
// the process ends. So the port of a server that is dead for a while stays free while other packages are tested.
const (
	lowestPort  = 11000
	highestPort = 32000
	blockSize   = 100
	mostBlocks  = 10 // then ports are used again
)

const portTries = 1000

// ports are those of this process.
var ports struct {
	sync.Mutex
	leaders []net.Listener
	blocks  []int // their first ports
	given   int   // ports so far
}

// listen takes a free port of 127.0.0.1.
func listen() (net.Listener, error) {
	for range portTries {
		port, err := nextPort()
		if err != nil {
			return nil, err
		}
		if l, err := net.Listen("tcp", address(port)); err == nil {
			return l, nil
		}
	}
	return nil, errors.New("redistest: found no free port on 127.0.0.1")
}

// nextPort goes through the blocks, and claims another one when they are used up.
func nextPort() (int, error) {
	ports.Lock()
	defer ports.Unlock()
	const each = blockSize - 1 // the first is taken
	n := ports.given % (mostBlocks * each)
	if n/each == len(ports.blocks) {
		if err := claimBlock(); err != nil {
			return 0, err
		}
	}
	ports.given++
	return ports.blocks[n/each] + 1 + n%each, nil
}

func claimBlock() error {
	for range portTries {
		first := lowestPort + blockSize*rand.IntN((highestPort-lowestPort)/blockSize)
		if l, err := net.Listen("tcp", address(first)); err == nil {
			ports.leaders, ports.blocks = append(ports.leaders, l), append(ports.blocks, first)
			return nil
		}
	}
	return errors.New("redistest: found no free block of ports on 127.0.0.1")
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

// NobodyThere returns an address of 127.0.0.1 at which nobody listens.
func NobodyThere(t testing.TB) string {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return address(port)
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
