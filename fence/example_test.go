package fence_test

import (
	"fmt"

	"github.com/rueidisson/rueidisson/fence"
)

func ExampleSQL() {
	token, _ := fence.New("order:42", 1790000000000007) // of a hold: hold.Fence(), or fence.FromContext
	q := fence.SQL(token, fence.Question)
	fmt.Println("UPDATE orders SET total = ?, " + q.Set + " WHERE id = ? AND " + q.Where)
	fmt.Println(q.Arg)
	fmt.Println(fence.SQL(token, fence.Dollar(2)).Where)
	// Output:
	// UPDATE orders SET total = ?, fence = ? WHERE id = ? AND fence <= ?
	// 1790000000000007
	// fence <= $2
}

func ExampleSQLWithOwner() {
	token, _ := fence.New("order:42", 1790000000000007)
	q := fence.SQLWithOwner(token.By("6f5c2ae5"), fence.Dollar(2))
	fmt.Println("UPDATE orders SET total = $1, " + q.Set + " WHERE id = 42 AND " + q.Where)
	fmt.Println(q.SetArgs...)
	// Output:
	// UPDATE orders SET total = $1, fence = $2, fence_owner = $3 WHERE id = 42 AND (fence < $2 OR fence = $2 AND fence_owner = $3)
	// 1790000000000007 6f5c2ae5
}

func ExampleToken_Compare() {
	older, _ := fence.New("order:42", 7)
	newer, _ := fence.New("order:42", 9)
	other, _ := fence.New("order:43", 8)
	order, _ := older.Compare(newer)
	fmt.Println(order)
	_, err := older.Compare(other)
	fmt.Println(err)
	// Output:
	// -1
	// the fencing token is of another lock: "order:42" and "order:43"
}
