package reliable

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Main(m, redistest.Children{"serves": servesChild, "holds": holdsChild})
}

const (
	addrOfChild  = "RELIABLE_ADDR"
	nameOfChild  = "RELIABLE_NAME"
	leaseOfChild = "RELIABLE_LEASE"
	mostOfChild  = "RELIABLE_ATTEMPTS"
)

// childQueue is the queue of a child, by a client of its own.
func childQueue() (*Queue[string], rueidis.Client) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv(addrOfChild)}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		panic(err)
	}
	e, err := engine.New(context.Background(), client, engine.Config{
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

// servesChild writes down what it handles, in a list of each group, and dies of poison.
func servesChild(p *redistest.Parent) {
	q, client := childQueue()
	p.Say("ready")
	err := q.Serve(context.Background(), func(ctx context.Context, m *Message[string]) error {
		if m.Value == "poison" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
		return client.Do(ctx, client.B().Rpush().Key(log(q.name, m.Header["group"])).Element(m.Value).Build()).Error()
	}, WithConcurrency(8))
	p.Say("ended: %v", err)
}

func childBackoff(int) time.Duration { return 2 * time.Second }

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
