//go:build unix

package combine

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// wire is a server at the other end of a socket that answers each byte: what an
// exchange on one machine costs, without a server.
type wire struct{ idle chan net.Conn }

func newWire(b *testing.B, conns int) *wire {
	w := &wire{idle: make(chan net.Conn, conns)}
	for range conns {
		w.idle <- dial(b)
	}
	return w
}

// dial returns a connection to a server that blocks in its system calls, as
// another process would.
func dial(b *testing.B) net.Conn {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(b, err)
	file := os.NewFile(uintptr(ends[0]), "wire")
	conn, err := net.FileConn(file)
	require.NoError(b, err)
	require.NoError(b, file.Close())
	served := make(chan struct{})
	go func() { // ends with the connection
		defer close(served)
		echo(ends[1])
	}()
	b.Cleanup(func() {
		conn.Close()
		<-served
	})
	return conn
}

func echo(fd int) {
	defer syscall.Close(fd)
	one := make([]byte, 1)
	for {
		if n, err := syscall.Read(fd, one); n != 1 || err != nil {
			return
		}
		if _, err := syscall.Write(fd, one); err != nil {
			return
		}
	}
}

func (w *wire) exchange() error {
	conn := <-w.idle
	defer func() { w.idle <- conn }()
	one := []byte{1}
	if _, err := conn.Write(one); err != nil {
		return err
	}
	_, err := conn.Read(one)
	return err
}

func BenchmarkHotKey(b *testing.B) {
	for _, goroutines := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			contexts(b, func(b *testing.B, ctx context.Context) {
				const flights = 4
				w := newWire(b, flights)
				var all sync.WaitGroup
				var sent atomic.Int64
				table := New(Config[string, int, int]{
					Send: func(_ string, _ int, batch []*Call[int, int]) error {
						sent.Add(1)
						return w.exchange()
					},
					Spawn:   spawn(&all),
					Flights: flights,
				})
				load(b, goroutines, func(_, i int) error {
					_, err := table.Do(ctx, "hot", i)
					return err
				})
				all.Wait()
				b.ReportMetric(float64(sent.Load())/float64(b.N), "exchanges/op")
			})
		})
	}
}
