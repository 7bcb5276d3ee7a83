package send

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

var (
	incrCommand = scripts.NewCommand("INCRBY", scripts.Once)
	mgetCommand = scripts.NewCommand("MGET", scripts.Safe)
)

// addingTo reads a counter and adds to it, in one step.
func addingTo(key, n string) *scripts.Transaction {
	return scripts.NewTransaction("count",
		scripts.Step{Command: getCommand, Call: scripts.Call{Keys: []string{key}}, Reads: true},
		scripts.Step{Command: incrCommand, Call: scripts.Call{Keys: []string{key}, Args: []string{n}}})
}

// reading reads two keys in one step.
func reading(a, b string) *scripts.Transaction {
	get := func(key string) scripts.Step {
		return scripts.Step{Command: getCommand, Call: scripts.Call{Keys: []string{key}}, Reads: true}
	}
	return scripts.NewTransaction("read", get(a), get(b))
}

// counted returns what a counter was, and is.
func counted(all []rueidis.RedisMessage) (was, is int64) {
	was, _ = all[0].AsInt64()
	is, _ = all[1].AsInt64()
	return was, is
}

func TestTransactionsHaveTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for name, change := range map[string]func(*core.Config){"alone": func(*core.Config) {}, "together": together} {
			e := on(t, raw, change, func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second })
			var all sync.WaitGroup
			for i := range 64 {
				key := fmt.Sprintf("{%s:%s}:%d", t.Name(), name, i)
				all.Go(func() {
					defer raw.Do(context.Background(), raw.B().Del().Key(key).Build())
					for n := range int64(20) {
						got, err := e.Transact(t.Context(), addingTo(key, "1"))
						if !assert.NoError(t, err) {
							return
						}
						was, is := counted(got)
						assert.Equal(t, []int64{n, n + 1}, []int64{was, is})
						one, err := e.Run(t.Context(), getCommand, []string{key}, nil)
						assert.NoError(t, err)
						text, _ := one.ToString()
						assert.Equal(t, fmt.Sprint(n+1), text)
					}
				})
			}
			all.Wait()
		}
	})
}

// TestALostTransaction is sent again if it only reads. Of another nobody knows whether it ran.
func TestALostTransaction(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*core.Config){"alone": func(*core.Config) {}, "together": together} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
			e, key := at(t, proxy.Addr(), change), t.Name()
			defer e.Redis.Do(context.Background(), e.Redis.B().Del().Key(key).Build())
			proxy.DropReply(redistest.Command("EXEC"), 1)
			got, err := e.Transact(t.Context(), reading(key, key))
			require.NoError(t, err)
			require.Len(t, got, 2)
			proxy.DropReply(redistest.Command("EXEC"), 1)
			_, err = e.Transact(t.Context(), addingTo(key, "5"))
			require.ErrorIs(t, err, core.ErrOutcomeUnknown)
			got, err = e.Transact(t.Context(), reading(key, key))
			require.NoError(t, err)
			was, is := counted(got)
			require.Equal(t, []int64{5, 5}, []int64{was, is}, "it ran once")
		})
	}
}

// TestARefusedTransactionIsSentAgain until the server takes it, whether it refuses one of its commands or EXEC.
func TestARefusedTransactionIsSentAgain(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		proxy := redistest.NewProxy(t, server.Addr())
		for name, change := range map[string]func(*core.Config){"alone": func(*core.Config) {}, "together": together} {
			e := at(t, proxy.Addr(), change, func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second })
			for _, kind := range []redistest.Refusal{redistest.OutOfMemory, redistest.NoReplicas} {
				key := name + kind.Name
				tried := proxy.Count(redistest.Command("EXEC"))
				accept := server.Refuse(kind)
				end := transacting(t, e, addingTo(key, "1"))
				proxy.AwaitCount(t, redistest.Command("EXEC"), tried+3)
				accept()
				require.Equal(t, []int64{0, 1}, end(), "%s at a command", key)

				held := proxy.HoldRequest(redistest.Command("EXEC"))
				end = transacting(t, e, addingTo(key, "1"))
				held.Await(t)
				accept = server.Refuse(kind)
				tried = proxy.Count(redistest.Command("EXEC"))
				held.Release()
				proxy.AwaitCount(t, redistest.Command("EXEC"), tried+2)
				accept()
				require.Equal(t, []int64{1, 2}, end(), "%s at EXEC", key)
			}
			for _, refusal := range []string{"MISCONF Redis is configured to save", "READONLY You can't write against a read only replica.", "LOADING Redis is loading"} {
				key := name + refusal
				rule := proxy.Answer(redistest.Command("INCRBY"), refusal) // the server runs the rest
				tried := proxy.Count(redistest.Command("EXEC"))
				end := transacting(t, e, addingTo(key, "1"))
				proxy.AwaitCount(t, redistest.Command("EXEC"), tried+2)
				rule.Cancel()
				require.Equal(t, []int64{0, 1}, end(), refusal)
			}
		}
	})
}

// transacting sends a transaction. End waits for what it answers.
func transacting(t *testing.T, e *closer, tx *scripts.Transaction) (end func() []int64) {
	done := make(chan []int64, 1)
	go func() {
		got, err := e.Transact(context.Background(), tx)
		if !assert.NoError(t, err) {
			done <- nil
			return
		}
		was, is := counted(got)
		done <- []int64{was, is}
	}()
	return func() []int64 { return <-done }
}

// TestATransactionThatIsRefusedForGood has written nothing, or says that it has.
func TestATransactionThatIsRefusedForGood(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		admin := server.Client(t)
		do := func(words ...string) rueidis.RedisResult {
			res := admin.Do(t.Context(), admin.B().Arbitrary(words...).Build())
			require.NoError(t, res.Error())
			return res
		}
		as := func(user string, change func(*core.Config)) *closer {
			client := server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = user, "secret" })
			return on(t, client, change)
		}
		do("ACL", "SETUSER", "noincr", "on", ">secret", "~*", "&*", "+@all", "-incrby")
		do("ACL", "SETUSER", "nomulti", "on", ">secret", "~*", "&*", "+@all", "-multi", "-exec")
		do("RPUSH", "list", "a")
		for name, change := range map[string]func(*core.Config){"alone": func(*core.Config) {}, "together": together} {
			_, err := as("noincr", change).Transact(t.Context(), addingTo("k", "1"))
			require.ErrorContains(t, err, "NOPERM")
			require.NotErrorIs(t, err, core.ErrOutcomeUnknown)
			exists, _ := do("EXISTS", "k").AsInt64()
			require.Zero(t, exists)

			e := as("nomulti", change)
			_, err = e.Transact(t.Context(), reading("k", "k"))
			require.ErrorContains(t, err, "NOPERM")
			require.NotErrorIs(t, err, core.ErrOutcomeUnknown)
			_, err = e.Transact(t.Context(), addingTo(name, "1"))
			require.ErrorIs(t, err, core.ErrOutcomeUnknown)
			require.ErrorContains(t, err, "grant multi and exec")
			require.NotContains(t, err.Error(), "reply was lost")
			n, _ := do("GET", name).AsInt64()
			require.EqualValues(t, 1, n, "the commands ran one by one, once")
			_, err = e.Transact(t.Context(), addingTo("list", "1"))
			require.ErrorContains(t, err, "NOPERM")
			require.NotErrorIs(t, err, core.ErrOutcomeUnknown, "nothing was written")

			_, err = on(t, admin, change).Transact(t.Context(), addingTo("list", "1"))
			require.True(t, WrongType(err), "%v", err)
			require.NotErrorIs(t, err, core.ErrOutcomeUnknown)
		}
	})
}

// TestATransactionWhoseSlotMoves is done by one node or the other, as a whole.
func TestATransactionWhoseSlotMoves(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	client := cluster.Client(t)
	for name, change := range map[string]func(*core.Config){"alone": func(*core.Config) {}, "together": together} {
		e := on(t, client, change, func(c *core.Config) { c.WatchdogTimeout = 30 * time.Second })
		a, b := fmt.Sprintf("{%s}a", name), fmt.Sprintf("{%s}b", name)
		sum := int64(0)
		count := func(key string) {
			t.Helper()
			got, err := e.Transact(t.Context(), addingTo(key, "1"))
			require.NoError(t, err)
			was, is := counted(got)
			require.Equal(t, []int64{sum, sum + 1}, []int64{was, is})
			sum++
		}
		for range 3 {
			count(a)
		}
		require.NoError(t, client.Do(t.Context(), client.B().Set().Key(b).Value("b").Build()).Error())
		moving := cluster.StartMigration(t, a)
		count(a) // where it was
		moving.Move(t, a)
		count(a) // ASK
		both := scripts.NewTransaction("both", scripts.Step{Command: mgetCommand, Call: scripts.Call{Keys: []string{a, b}}, Reads: true})
		_, err := e.Transact(t.Context(), both)
		require.ErrorIs(t, err, core.ErrSlotMoving)
		require.NotErrorIs(t, err, core.ErrOutcomeUnknown)
		moving.Finish(t)
		count(a) // MOVED
		got, err := e.Transact(t.Context(), both)
		require.NoError(t, err)
		texts, err := got[0].AsStrSlice()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(sum)+" b", strings.Join(texts, " "))
	}
}
