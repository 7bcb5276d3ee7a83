package bench

import (
	"context"

	"github.com/hibiken/asynq"
)

func init() {
	impls["asynq add"] = func(addr string) (impl, error) {
		return asynqAdds{asynq.NewClient(asynqAt(addr))}, nil
	}
	impls["asynq take"] = func(addr string) (impl, error) { return &asynqTakes{addr: addr}, nil }
}

// asynqAt is its own settings, with a connection for each of the workers: fewer are slower.
func asynqAt(addr string) asynq.RedisClientOpt {
	return asynq.RedisClientOpt{Addr: addr, PoolSize: asynqWorkers}
}

const asynqWorkers = 64

// asynqAdds is its client.
type asynqAdds struct{ c *asynq.Client }

func (i asynqAdds) locker(name string) locker {
	task := asynq.NewTask("mail", []byte(text100))
	return call(func(ctx context.Context, _ int) error {
		_, err := i.c.EnqueueContext(ctx, task, asynq.Queue(name))
		return err
	}).locker()
}

func (i asynqAdds) close() { _ = i.c.Close() }

// asynqTakes is its server, whose handlers do nothing but let a call of a locker pass.
type asynqTakes struct {
	handing
	addr   string
	server *asynq.Server
}

// locker starts the server with the first one: all of them are of one name.
func (i *asynqTakes) locker(name string) locker {
	if i.server == nil {
		i.handing = newHanding()
		i.server = asynq.NewServer(asynqAt(i.addr), asynq.Config{
			Concurrency: asynqWorkers, Queues: map[string]int{name: 1}, LogLevel: asynq.FatalLevel,
		})
		err := i.server.Start(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return i.hand() }))
		if err != nil {
			return func(context.Context) (unlock, error) { return nil, err }
		}
	}
	return call(i.pass).locker()
}

func (i *asynqTakes) close() {
	if i.server != nil {
		i.server.Stop() // what is not begun stays
		close(i.closed)
		i.server.Shutdown()
	}
}
