package reliable

import (
	"context"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Main(m, redistest.Children{
		"serves": servesChild, "serves one": servesOneChild, "holds": holdsChild, "steady": steadyChild, "mortal": mortalChild,
	})
}

const (
	addrOfChild    = "RELIABLE_ADDR"
	throughOfChild = "RELIABLE_THROUGH"
	nameOfChild    = "RELIABLE_NAME"
	leaseOfChild   = "RELIABLE_LEASE"
	mostOfChild    = "RELIABLE_ATTEMPTS"
)

// childClient is a client of a child: of the server at an address, or of the cluster at several, by way of the proxies
// that the test has put before them.
func childClient(addrs string) rueidis.Client {
	all, proxies := strings.Split(addrs, ","), map[string]string{}
	for _, pair := range strings.Split(os.Getenv(throughOfChild), ",") {
		target, proxy, _ := strings.Cut(pair, "=")
		proxies[target] = proxy
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: all, ForceSingleClient: len(all) == 1, DisableCache: true,
		DialCtxFn: redistest.ThroughAddrs(proxies),
	})
	if err != nil {
		panic(err)
	}
	return client
}

// childQueue is the queue of a child, by a client of its own.
func childQueue() (*Queue[string], rueidis.Client) {
	client := childClient(os.Getenv(addrOfChild))
	e, err := locking.New(context.Background(), client, core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second, Linger: time.Second, Values: codec.Text,
	})
	if err != nil {
		panic(err)
	}
	lease, err := time.ParseDuration(os.Getenv(leaseOfChild))
	if err != nil {
		panic(err)
	}
	most, err := strconv.Atoi(os.Getenv(mostOfChild))
	if err != nil {
		panic(err)
	}
	return New[string](e, os.Getenv(nameOfChild), WithLease(lease), WithMaxAttempts(most), WithBackoff(childBackoff)), client
}

// servesOneChild handles one message at a time, while others wait for it.
func servesOneChild(p *redistest.Parent) { serveChild(p, 1) }

// servesChild writes down what it handles, in a list of each group, and dies of poison.
func servesChild(p *redistest.Parent) { serveChild(p, 8) }

func serveChild(p *redistest.Parent, concurrency int) {
	q, client := childQueue()
	p.Say("ready")
	err := q.Serve(context.Background(), func(ctx context.Context, m *Message[string]) error {
		if m.Value == "poison" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
		return client.Do(ctx, client.B().Rpush().Key(log(q.name, m.Header["group"])).Element(m.Value).Build()).Error()
	}, WithConcurrency(concurrency), WithPrefetch(8))
	p.Say("ended: %v", err)
}

func childBackoff(int) time.Duration { return 500 * time.Millisecond }

func log(name, group string) string { return name + ":log:" + group }

// holdsChild takes a message, says so, and checks it whenever it is told to.
func holdsChild(p *redistest.Parent) {
	q, _ := childQueue()
	p.Say("ready")
	m, err := q.Receive(context.Background())
	if err != nil {
		panic(err)
	}
	ctx := m.Context(context.Background())
	p.Say("took %s", m.Value)
	for _, ok := p.Hear(); ok; _, ok = p.Hear() {
		err, ended := m.Err(), ctx.Err()
		p.Say("%v|%v|%v", err, ended, m.Ack(context.Background()))
	}
}
