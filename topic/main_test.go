package topic

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, redistest.Children{"durable": durableChild}) }

// durableChild handles four messages, and hangs in the fifth.
func durableChild(p *redistest.Parent) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("TOPIC_ADDR")}, ForceSingleClient: true, DisableCache: true})
	if err != nil {
		panic(err)
	}
	e, err := engine.New(context.Background(), client, engine.Config{ClientID: owner.NewClient(), WatchdogTimeout: 2 * time.Second, Values: codec.Text})
	if err != nil {
		panic(err)
	}
	s, err := NewReliable[string](e, os.Getenv("TOPIC_NAME"), WithMaxLength(1000)).Durable("billing").Listen(context.Background())
	if err != nil {
		panic(err)
	}
	p.Say("listens")
	for v := range s.Messages(context.Background()) {
		if v == "4" {
			time.Sleep(time.Second) // what is handled is acknowledged meanwhile
			p.Say("handled 3")
			select {}
		}
	}
}
