package redistest

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/pace"
)

func TestMain(m *testing.M) {
	Main(m, Children{"echo": echo, "exit": exitThree, "program": program, "server": runServer, "stops itself": stopsItself})
}

func echo(p *Parent) {
	p.Say("ready %s", os.Getenv("GREETING"))
	for {
		line, ok := p.Hear()
		if !ok {
			p.Say("bye")
			return
		}
		p.Say("heard %s", line)
	}
}

// program says which file the child runs.
func program(p *Parent) { p.Say("%s", os.Args[0]) }

func exitThree(*Parent) { os.Exit(3) }

// runServer starts a server as a test would, and tells where.
func runServer(p *Parent) {
	s, err := launch(os.Getenv("BINARY"), os.Getenv("DIR"), func(int) ([]setting, error) { return nil, nil })
	if err != nil {
		p.Say("failed %v", err)
		return
	}
	p.Say("%s", s.addr())
	p.Hear()
}

// TestParallelTestsWaitBesideEachOther is not parallel itself, so that nobody else takes their places.
func TestParallelTestsWaitBesideEachOther(t *testing.T) {
	beside := pace.Tests()
	if parallelSaid() || Soaking() {
		beside = 1 // -parallel says otherwise, or a soak, in which they compute
	}
	var others sync.WaitGroup
	others.Add(beside)
	all := make(chan struct{})
	go func() { // ends when all have begun
		others.Wait()
		close(all)
	}()
	for range beside {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			others.Done()
			select {
			case <-all:
			case <-time.After(Soon):
				t.Error("the others have not begun")
			}
		})
	}
}
