package topic

import (
	"context"
	"os"
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
	redistest.Main(m, redistest.Children{"durable": durableChild, "worker": workerChild})
}

// childSubscribes is a subscription of a child.
func childSubscribes(p *redistest.Parent) reliably {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("TOPIC_ADDR")}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		panic(err)
	}
	e, err := locking.New(context.Background(), client, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 2 * time.Second, Values: codec.Text})
	if err != nil {
		panic(err)
	}
	s, err := NewReliable[string](e, os.Getenv("TOPIC_NAME"), WithMaxLength(1000)).Durable("billing").Listen(context.Background())
	if err != nil {
		panic(err)
	}
	p.Say("listens")
	return reliably{s}
}

// durableChild handles four messages, and hangs in the fifth.
func durableChild(p *redistest.Parent) {
	for v := range childSubscribes(p).Messages(context.Background()) {
		if v == "4" {
			p.Say("handled 3")
			select {}
		}
	}
}

// workerChild handles all messages, and takes its time.
func workerChild(p *redistest.Parent) {
	for v, err := range childSubscribes(p).Messages(context.Background()) {
		time.Sleep(5 * time.Millisecond)
		p.Say("%s %v", v, err)
	}
}
