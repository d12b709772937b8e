/* Deadlines, whose time stands still while the machine sleeps. */
#include "serve/http/deadline.h"

#include "os/os.h"
#include "unit.h"

enum { SHORT_MS = 30, LONG_MS = 60, HOUR_MS = 3600000 };

struct scene {
    uv_loop_t loop;
    struct deadlines all;
    struct deadline_class quick, slow;
    struct deadline deadlines[3];
    int64_t ended_at[3];
    int ended;
};

static struct scene scene;

static void on_expired(struct deadline *deadline) {
    assert_null(deadline->class);
    scene.ended_at[deadline - scene.deadlines] = os_clock_ms();
    scene.ended++;
}

static void open_scene(void) {
    scene = (struct scene){.ended = 0};
    uv_loop_init(&scene.loop);
    deadlines_init(&scene.all, &scene.loop);
    deadlines_add(&scene.all, &scene.quick, SHORT_MS, on_expired);
    deadlines_add(&scene.all, &scene.slow, LONG_MS, on_expired);
}

static void close_scene(void) {
    deadlines_finish(&scene.all);
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&scene.loop), 0);
}

/* As a loop finds its time after a sleep where that goes on meanwhile. */
static void on_wake(uv_timer_t *timer) {
    timer->loop->time += HOUR_MS;
    uv_close((uv_handle_t *)timer, NULL);
}

static void test_a_sleep_is_no_time(void **state) {
    uv_timer_t wake;
    int64_t began;
    (void)state;
    open_scene();
    began = os_clock_ms();
    deadline_start(&scene.deadlines[0], &scene.slow);
    deadline_start(&scene.deadlines[1], &scene.quick);
    uv_timer_init(&scene.loop, &wake);
    uv_timer_start(&wake, on_wake, 1, 0);
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    assert_int_equal(scene.ended, 2);
    assert_true(scene.ended_at[0] - began >= LONG_MS);
    assert_true(scene.ended_at[1] - began >= SHORT_MS);
    assert_true(scene.ended_at[0] - began < HOUR_MS / 2);
    close_scene();
}

static void test_what_is_stopped_does_not_end(void **state) {
    (void)state;
    open_scene();
    for (int i = 0; i < 3; i++)
        deadline_start(&scene.deadlines[i], &scene.quick);
    deadline_stop(&scene.deadlines[1]);
    uv_run(&scene.loop, UV_RUN_DEFAULT);
    assert_int_equal(scene.ended, 2);
    assert_int_equal(scene.ended_at[1], 0);
    close_scene();
}

/* The library keeps something open from the first loop on. */
static int begin_all(void **state) {
    (void)state;
    open_scene();
    close_scene();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_a_sleep_is_no_time),
        UNIT_TEST(test_what_is_stopped_does_not_end),
    };
    return cmocka_run_group_tests(tests, begin_all, NULL);
}
