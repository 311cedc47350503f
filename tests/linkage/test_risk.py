import numpy as np

from reidsim.linkage.risk import UniformGuess


def test_a_uniform_guess_names_one_of_the_group():
    np.testing.assert_array_equal(
        UniformGuess().success_probability(np.array([1, 2, 3, 96])), [1, 1 / 2, 1 / 3, 1 / 96]
    )


def test_expected_group_sizes_need_not_be_whole():
    success = UniformGuess().success_probability(np.array([1.0, 2.5]))
    assert success.dtype == np.float64
    np.testing.assert_array_equal(success, [1.0, 0.4])
