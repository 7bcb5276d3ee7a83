package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// evalHere runs a script by itself, as a copy that arrives when it likes.
func (r *permitRig) evalHere(body string, on, args []string) rueidis.RedisResult {
	return r.Raw.Do(context.Background(), r.Raw.B().Eval().Script(body).Numkeys(int64(len(on))).Key(on...).Arg(args...).Build())
}

// TestASecondSendBehindTheEndOfTheLeaseTakesAgain: the lease that the first one had
// begun has ended, and its permit counts as dead until then.
func TestASecondSendBehindTheEndOfTheLeaseTakesAgain(t *testing.T) {
	t.Parallel()
	const id = "0123456789abcdef"
	for name, send := range map[string]func(r *permitRig) error{
		"acquire": func(r *permitRig) error {
			return r.evalHere(acquireScript.Body(), []string{r.of.key, r.of.leases, r.of.gone}, []string{id, longLease, r.of.channel, "publish"}).Error()
		},
		"exchange": func(r *permitRig) error {
			args := []string{r.of.channel, "publish", "0", "take", longLease, "", "1", id}
			return r.evalHere(exchangeScript.Body(), []string{r.of.key, r.of.leases, r.of.gone, r.of.labels}, args).Error()
		},
	} {
		for _, total := range []int64{1, 3} {
			r := newPermitRig(t).set(total)
			require.NoError(t, send(r), name)
			r.stands(total-1, 1)
			r.Ask("ZADD", r.of.leases, "1", id)
			require.NoError(t, send(r), name)
			r.stands(total-1, 1)
		}
	}
}

// TestALateExchangeOfAFixedLease is the same through a client: the reply is lost for
// longer than the lease.
func TestALateExchangeOfAFixedLease(t *testing.T) {
	t.Parallel()
	r, proxy := faultyPermits(t, enginetest.ShortSends, forEver)
	p := r.set(1).take(WithLease(time.Hour))
	waits := r.acquiring(t.Context(), WithLease(20*time.Millisecond))
	r.waiting(1)
	lost := proxy.DropReply(r.sent(exchangeScript), 1, redistest.Silent())
	r.give(p) // the next takes it in the same call, and its lease ends before the second send
	lost.Await(t)
	<-waits
	n, err := r.Available(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, n, int64(1), "no permit is minted")
	require.LessOrEqual(t, r.free()+r.held(), int64(1))
	proxy.Restore() // cuts the silent connection, so that Close leaves nothing behind
}

// TestPermitsThatAreHeldCountWhenTheirNumberIsSetAnew: the number went, by eviction or
// by hand, and the leases of those who hold stayed.
func TestPermitsThatAreHeldCountWhenTheirNumberIsSetAnew(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(r *permitRig) error{
		"set": func(r *permitRig) error { return r.SetPermits(t.Context(), 5) },
		"try set": func(r *permitRig) error {
			_, err := r.TrySetPermits(t.Context(), 5)
			return err
		},
		"try set for a time": func(r *permitRig) error {
			_, err := r.TrySetPermits(t.Context(), 5, WithTTL(time.Hour))
			return err
		},
		"add": func(r *permitRig) error { return r.AddPermits(t.Context(), 5) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newPermitRig(t).set(5)
			p, q := r.take(), r.take()
			r.Ask("ZADD", r.of.leases, "1", "a dead one's id.")
			r.Ask("DEL", r.of.key)
			require.NoError(t, set(r))
			n, err := r.Available(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 3, n)
			ttl := must(r.Raw.Do(t.Context(), r.Raw.B().Pttl().Key(r.of.leases).Build()).AsInt64())
			require.Equal(t, name == "try set for a time", ttl > 0, "they go with their number")
			r.give(p)
			r.give(q)
			r.take()
			r.stands(4, 1)
		})
	}
}
