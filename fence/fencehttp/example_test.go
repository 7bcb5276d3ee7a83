package fencehttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/fence/fencehttp"
)

func Example() {
	gate := fencehttp.NewGate(func(r *http.Request) string { return "order:" + strings.TrimPrefix(r.URL.Path, "/orders/") }, nil)
	shop := gate.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "written")
	}))
	put := func(number int64) int {
		token, _ := fence.New("order:42", number) // in a program, the context of a hold carries it
		req := httptest.NewRequest(http.MethodPut, "/orders/42", nil)
		req.Header.Set(fencehttp.Header, token.String()) // that is what Transport does
		res := httptest.NewRecorder()
		shop.ServeHTTP(res, req)
		return res.Code
	}
	fmt.Println(put(7), put(9), put(8))
	// Output:
	// 200 200 412
}
