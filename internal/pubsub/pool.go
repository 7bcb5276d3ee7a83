package pubsub

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"
)

// vacancy waits until the pool of a node's client has a connection to spare. Dedicate then finds it: by itself it
// would wait without a bound, on a goroutine that nobody can end.
func vacancy(ctx context.Context, client rueidis.Client) error {
	err := client.Do(ctx, client.B().Arbitrary("PING").Blocking()).Error()
	if _, answered := rueidis.IsRedisErr(err); answered {
		return nil
	}
	return Crowded(client, err)
}

// crowdedWithin is how long a node may take to show that it is not the silent one.
const crowdedWithin = time.Second

// Crowded explains why what needs a connection of the client's pool got no answer in time. If the node answers on the
// connection that everything else goes by, the pool had none to give. Every other error is returned as it is.
func Crowded(client rueidis.Client, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), crowdedWithin)
	defer cancel()
	silent := client.Do(ctx, client.B().Ping().Build()).Error()
	if _, answered := rueidis.IsRedisErr(silent); silent != nil && !answered {
		return err
	}
	return fmt.Errorf("no connection was free: all that rueidis.ClientOption.BlockingPoolSize allows are in use, or a new one took too long: %w", err)
}
