package scripts_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// slowCluster is a client of a cluster whose answers take a second, and counts
// the calls that are under way.
type slowCluster struct {
	rueidis.Client
	mu               sync.Mutex
	under, most, all int
}

func (s *slowCluster) Mode() rueidis.ClientMode { return rueidis.ClientModeCluster }

func (s *slowCluster) Do(context.Context, rueidis.Completed) (res rueidis.RedisResult) {
	s.add(1)
	time.Sleep(time.Second)
	s.add(-1)
	return res
}

func (s *slowCluster) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under += n
	s.most = max(s.most, s.under)
	s.all += max(n, 0)
}

func TestABatchOnConnectionsOfItsOwnTakesABoundedNumberOfThem(t *testing.T) {
	builder := newRecorder(t).Client
	synctest.Test(t, func(t *testing.T) {
		const most = 32
		c := &slowCluster{Client: builder}
		calls := make([]scripts.Call, 10*most)
		for i := range calls {
			calls[i] = scripts.Call{Keys: []string{strconv.Itoa(i)}}
		}
		began := time.Now()
		results := scripts.Must(testdata, "testdata/append.lua").ExecMulti(t.Context(), c, true, calls)
		require.Len(t, results, len(calls))
		require.Equal(t, len(calls), c.all)
		require.Equal(t, most, c.most)
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}
